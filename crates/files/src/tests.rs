use super::*;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("equimarl-files-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_file_appears_when_it_is_finished() {
    let folder = Folder::new("appears");
    let path = folder.0.join("a.txt");
    write_file(&path, b"old").unwrap();
    let mut draft = Draft::create(&path).unwrap();
    let mut other = Draft::create(&path).unwrap();
    draft.write_all(b"ne").unwrap();
    other.write_all(b"another").unwrap();
    draft.write_all(b"w").unwrap();
    assert_eq!(draft.path(), path);
    assert_eq!(fs::read(&path).unwrap(), b"old");
    // Whoever is killed here leaves files that are known by their ends, and hidden.
    let left: Vec<String> = folder.names().into_iter().filter(|n| n != "a.txt").collect();
    assert_eq!(left.len(), 2);
    assert!(
        left.iter().all(|n| n.starts_with('.') && Path::new(n).extension().unwrap() == TEMPORARY),
        "{left:?}"
    );
    draft.finish(Ok(())).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"new");
    assert!(other.finish(Err(Error::other("no"))).is_err());
    assert_eq!(fs::read(&path).unwrap(), b"new");
    drop(Draft::create(folder.0.join("b")).unwrap());
    assert_eq!(folder.names(), ["a.txt"]);
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let folder = Folder::new("refused");
    let kind = |path: &Path| write_file(path, b"x").unwrap_err().kind();
    assert_eq!(kind(&folder.0), ErrorKind::IsADirectory);
    assert_eq!(kind(&folder.0.join("missing").join("x")), ErrorKind::NotFound);
    assert_eq!(kind(Path::new("")), ErrorKind::InvalidInput);
    assert_eq!(kind(&folder.0.join("..")), ErrorKind::InvalidInput);
    assert!(folder.names().is_empty());
}

#[test]
fn files_are_read_up_to_a_limit() {
    let folder = Folder::new("limit");
    let path = folder.0.join("a");
    write_file(&path, &[7; 10]).unwrap();
    assert_eq!(read_file(&path, 10).unwrap(), [7; 10]);
    assert_eq!(read_file(&path, usize::MAX).unwrap(), [7; 10]);
    let error = read_file(&path, 9).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert_eq!(error.to_string(), "it has 10 bytes, and at most 9 are read");
    assert_eq!(read_file(&folder.0, 9).unwrap_err().to_string(), "not a file");
    assert_eq!(read_file(folder.0.join("b"), 9).unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn of_many_who_make_a_file_one_does() {
    let folder = Folder::new("one");
    let path = folder.0.join("a");
    let made: Vec<bool> = std::thread::scope(|scope| {
        let make = |text: u8| create_file(&path, &[text; 1000]).is_ok();
        let all: Vec<_> = (0..8).map(|i| scope.spawn(move || make(i))).collect();
        all.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(made.iter().filter(|made| **made).count(), 1);
    let winner = made.iter().position(|made| *made).unwrap() as u8;
    assert_eq!(fs::read(&path).unwrap(), [winner; 1000]);
    assert_eq!(create_file(&path, b"x").unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(folder.names(), ["a"]);
}
