//! Where SUMO is on this machine.

use equimarl_worlds::{Error, Result};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
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
            *found = Some(look(std::env::var_os("SUMO_HOME").map(PathBuf::from))?);
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
    let home = match home {
        Some(home) if home.join("bin/sumo").is_file() => home,
        Some(home) => {
            return Err(Error::BadWorld(format!(
                "SUMO_HOME is {}, and there is no bin/sumo in it; correct it, or leave it unset",
                home.display()
            )));
        }
        None => on_path().or_else(|| of_python(Path::new("python3"))).ok_or_else(missing)?,
    };
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
    let ask = "import sumo, os; print(os.path.dirname(sumo.__file__))";
    let said =
        Command::new(python).args(["-c", ask]).stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
    let home = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim());
    home.join("bin/sumo").is_file().then_some(home)
}

fn version(sumo: &Path) -> Result<String> {
    let said = Command::new(sumo).arg("--version").stdin(Stdio::null()).output().map_err(|error| {
        Error::BadWorld(format!("{} cannot be started: {error}; install SUMO again", sumo.display()))
    })?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    let version =
        text.lines().next().unwrap_or_default().split_whitespace().last().unwrap_or_default().to_string();
    check_version(&version)?;
    Ok(version)
}

fn check_version(version: &str) -> Result<()> {
    let mut numbers =
        version.trim_start_matches('v').split(['.', '+', '-', '_']).map(|n| n.parse::<u32>().unwrap_or(0));
    let found = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
    if found < OLDEST {
        return Err(Error::BadWorld(format!(
            "SUMO here is version `{version}`, and {}.{} or newer is needed: `pip install --upgrade eclipse-sumo`",
            OLDEST[0], OLDEST[1]
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
            check_version(good).unwrap();
        }
        for old in ["1.19.0", "0.32", "", "SUMO"] {
            let error = check_version(old).unwrap_err().to_string();
            assert!(error.contains("pip install --upgrade eclipse-sumo"), "{error}");
        }
        let error = look(Some("/nowhere/at/all".into())).unwrap_err().to_string();
        assert!(error.contains("SUMO_HOME is /nowhere/at/all"), "{error}");
        assert!(missing().to_string().contains("pip install eclipse-sumo"));
    }
}
