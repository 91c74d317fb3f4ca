//! Where SUMO is on this machine.

use crate::ask::ask;
use crate::process::patience;
use equimarl_worlds::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// The oldest version whose protocol and options are those that are used here.
const OLDEST: [u32; 2] = [1, 20];

/// Programs of SUMO.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install {
    /// The folder that SUMO calls its home.
    home: PathBuf,
    /// Its version.
    pub version: String,
}

static FOUND: Mutex<Option<Install>> = Mutex::new(None);

impl Install {
    /// Looks in `SUMO_HOME`, on the path, and in Python's packages; once per program if it is found.
    ///
    /// # Errors
    /// If there is none, or an old one, saying what to do.
    pub fn find() -> Result<Install> {
        let mut found = FOUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if found.is_none() {
            patience().map_err(Error::BadWorld)?;
            // Shells that "unset" a variable often leave it empty.
            let home = std::env::var_os("SUMO_HOME").filter(|home| !home.is_empty());
            *found = Some(look(home.map(PathBuf::from))?);
        }
        found.clone().ok_or_else(missing)
    }

    /// One of its programs.
    pub fn program(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }

    /// The folder for `SUMO_HOME`.
    pub fn home(&self) -> &Path {
        &self.home
    }
}

fn missing() -> Error {
    Error::BadWorld(
        "SUMO is not here: `pip install eclipse-sumo` installs it (into the Python that is found as `python3`, or set SUMO_HOME \
         to its folder)"
            .into(),
    )
}

fn look(home: Option<PathBuf>) -> Result<Install> {
    // Programs are asked in another folder than ours.
    match home.map(|home| std::path::absolute(&home).unwrap_or(home)) {
        Some(home) if home.join("bin/sumo").is_file() => {
            of_home(home.clone()).map_err(|error| of_variable(&home, &error, usual()))
        }
        Some(home) => Err(Error::BadWorld(format!(
            "SUMO_HOME is {}, and there is no bin/sumo in it; correct it, or leave it unset",
            home.display()
        ))),
        // Distributions have old versions; pip's is taken then, wherever it stands on the path.
        None => usual(),
    }
}

fn usual() -> Result<Install> {
    first_good([on_path as fn() -> Option<PathBuf>, of_usual_python])
}

/// What is wrong with the one that SUMO_HOME names, which hides any other, and what to do.
fn of_variable(home: &Path, error: &Error, other: Result<Install>) -> Error {
    let advice = match other.ok().filter(|other| other.home != home) {
        Some(other) => format!("leave it unset to use {} in {}", other.version, other.home.display()),
        None => "leave it unset, or set it to the folder of another one".into(),
    };
    Error::BadWorld(format!("SUMO_HOME is {}: {error}; {advice}", home.display()))
}

fn of_usual_python() -> Option<PathBuf> {
    of_python(Path::new("python3"))
}

/// The first that can be used; if there is none, what is wrong with the first.
fn first_good(places: [fn() -> Option<PathBuf>; 2]) -> Result<Install> {
    let mut wrong = None;
    for home in places.into_iter().filter_map(|place| place()) {
        match of_home(home) {
            Ok(install) => return Ok(install),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    Err(wrong.unwrap_or_else(missing))
}

fn of_home(home: PathBuf) -> Result<Install> {
    let version = version(&home.join("bin/sumo"))?;
    Ok(Install { home, version })
}

/// The home of the `sumo` on the path. What pip puts there is a script that starts the real one; killing it would leave
/// that one behind, so the real one is what we look for.
fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let program = std::env::split_paths(&path).map(|folder| folder.join("sumo")).find(|p| p.is_file())?;
    let start = std::fs::read(&program).ok()?;
    if let Some(script) = start.strip_prefix(b"#!") {
        let line = script.split(|b| *b == b'\n').next()?;
        return of_python(Path::new(std::str::from_utf8(line).ok()?.trim()));
    }
    let real = program.canonicalize().ok()?;
    let home = real.parent()?.parent()?.to_path_buf();
    // Packages of distributions have programs in /usr/bin and data elsewhere.
    Some(home)
}

/// The home of the package that a Python has.
fn of_python(python: &Path) -> Option<PathBuf> {
    let question = "import sumo, os; print(os.path.dirname(sumo.__file__))";
    // Not in the user's folder: a sumo.py there would be run.
    let said = ask(Command::new(python).args(["-c", question])).ok()?;
    let home = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
    home.join("bin/sumo").is_file().then_some(home)
}

fn version(sumo: &Path) -> Result<String> {
    let said = ask(Command::new(sumo).arg("--version")).map_err(|error| {
        Error::BadWorld(format!("{} does not tell its version: {error}; install SUMO again", sumo.display()))
    })?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = text.lines().next().and_then(|line| line.split_whitespace().last());
    // Without a library of its own it says nothing that we asked for.
    let Some(version) = version.filter(|_| said.status.success()) else {
        let error = String::from_utf8_lossy(&said.stderr).into_owned();
        let last = error.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it does not say why");
        return Err(Error::BadWorld(format!(
            "{} does not run ({}): {}; install SUMO again",
            sumo.display(),
            said.status,
            last.trim()
        )));
    };
    check_version(version, sumo)?;
    Ok(version.to_string())
}

fn check_version(version: &str, sumo: &Path) -> Result<()> {
    let mut numbers =
        version.trim_start_matches('v').split(['.', '+', '-', '_']).map(|n| n.parse::<u32>().unwrap_or(0));
    let found = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    if found < OLDEST {
        return Err(Error::BadWorld(format!(
            "{} is version `{version}`, and {}.{} or newer is needed: `pip install --upgrade eclipse-sumo`",
            sumo.display(),
            OLDEST[0],
            OLDEST[1]
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_missing_versions_are_refused_with_what_to_do() {
        for good in ["1.20.0", "1.28.0", "v1_28_0+0312-abc", "2.0"] {
            check_version(good, Path::new("/usr/bin/sumo")).unwrap();
        }
        for old in ["1.19.0", "0.32", "", "SUMO"] {
            let error = check_version(old, Path::new("/usr/bin/sumo")).unwrap_err().to_string();
            assert!(error.contains("/usr/bin/sumo is version"), "{error}");
            assert!(error.contains("pip install --upgrade eclipse-sumo"), "{error}");
        }
        let error = look(Some("/nowhere/at/all".into())).unwrap_err().to_string();
        assert!(error.contains("SUMO_HOME is /nowhere/at/all"), "{error}");
        assert!(missing().to_string().contains("pip install eclipse-sumo"));
    }

    /// A folder with a program that says that it is SUMO of a version.
    fn pretend(folder: &Path, version: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let (home, script) = (folder.join(version), format!("#!/bin/sh\necho Eclipse SUMO sumo {version}\n"));
        std::fs::create_dir_all(home.join("bin")).unwrap();
        std::fs::write(home.join("bin/sumo"), script).unwrap();
        std::fs::set_permissions(home.join("bin/sumo"), PermissionsExt::from_mode(0o755)).unwrap();
        home
    }

    #[test]
    fn one_that_does_not_run_or_is_old_is_named() {
        use std::os::unix::fs::PermissionsExt;
        let folder = crate::folder::Folder::new().unwrap();
        let home = pretend(folder.path(), "1.28.0");
        let program = home.join("bin/sumo");
        std::fs::write(
            &program,
            "#!/bin/sh\necho first >&2\necho libxerces-c.so: cannot open >&2\nexit 127\n",
        )
        .unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let error = of_home(home).unwrap_err().to_string();
        for part in [&program.display().to_string(), "exit status: 127", "libxerces-c.so: cannot open"] {
            assert!(error.contains(part) && !error.contains('\n'), "{error}");
        }
        let [old, new] = ["1.4.0", "1.29.0"].map(|version| pretend(folder.path(), version));
        let error = of_home(old.clone()).unwrap_err();
        let said = of_variable(&old, &error, of_home(new.clone())).to_string();
        let [old, new] = [old, new].map(|home| home.display().to_string());
        assert!(said.contains(&format!("SUMO_HOME is {old}")), "{said}");
        assert!(
            said.contains(&format!("leave it unset to use 1.29.0 in {new}")) && !said.contains('\n'),
            "{said}"
        );
        let said = of_variable(Path::new(&old), &error, Err(missing())).to_string();
        assert!(said.contains("set it to the folder of another one"), "{said}");
    }

    static OLD: Mutex<Option<PathBuf>> = Mutex::new(None);
    static NEW: Mutex<Option<PathBuf>> = Mutex::new(None);

    #[test]
    fn an_old_one_on_the_path_does_not_hide_a_new_one() {
        let folder = crate::folder::Folder::new().unwrap();
        *OLD.lock().unwrap() = Some(pretend(folder.path(), "1.4.0"));
        *NEW.lock().unwrap() = Some(pretend(folder.path(), "1.28.0"));
        let old = || OLD.lock().unwrap().clone();
        let new = || NEW.lock().unwrap().clone();
        assert_eq!(first_good([old, new]).unwrap().version, "1.28.0");
        assert_eq!(first_good([new, old]).unwrap().version, "1.28.0");
        let error = first_good([old, || None]).unwrap_err().to_string();
        assert!(error.contains("bin/sumo is version `1.4.0`") && !error.contains('\n'), "{error}");
        assert!(first_good([|| None, || None]).unwrap_err().to_string().contains("SUMO is not here"));
    }
}
