//! What a city of SUMO is made from.

use crate::ask::ask;
use crate::city::City;
use crate::demand::Flow;
use crate::install::Install;
use crate::net::Net;
use equimarl_worlds::{Error, KEPT_IN, Result, Settings};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The settings of the world.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Rows and columns of a generated grid.
    pub grid: [usize; 2],
    /// A net of the user's own instead; empty for a grid.
    pub net: String,
    /// Routes of the user's own; empty for drawn ones.
    pub routes: String,
    /// A folder in which a run keeps what netgenerate made; empty if there is none.
    pub kept_in: String,
    /// The second at which the simulation starts: demand in files may begin late.
    pub begin: usize,
    /// Lanes of a road.
    pub lanes: usize,
    /// Lanes for turning left, before the stop line.
    pub turn_lanes: usize,
    /// Metres between junctions.
    pub length: f64,
    /// What is drawn.
    pub flow: Flow,
    /// How imperfectly people drive.
    pub noise: f64,
    /// Seconds between decisions.
    pub interval: usize,
    /// Seconds of yellow before a light changes.
    pub yellow: usize,
    /// Seconds after it in which nobody who changes has green.
    pub all_red: usize,
    /// Seconds for which a green stays at least.
    pub min_green: usize,
}

impl Options {
    /// Reads settings.
    ///
    /// # Errors
    /// If they do not make a city.
    pub fn of(settings: &Settings) -> Result<Options> {
        let bad = |why: String| Err(Error::BadWorld(why));
        let options = Options {
            grid: [settings.whole("rows")?, settings.whole("cols")?],
            net: settings.text("net")?.into(),
            routes: settings.text("routes")?.into(),
            kept_in: settings.text(KEPT_IN).unwrap_or_default().into(),
            begin: settings.whole("begin")?,
            lanes: settings.whole("lanes")?,
            turn_lanes: settings.whole("turn_lanes")?,
            length: settings.number("length")?,
            flow: Flow {
                per_hour: settings.number("flow")?,
                tilt: settings.number("tilt")?,
                main_road: settings.number("main_road")?,
                turning: settings.number("turning")?,
                seconds: settings.whole("duration")?,
            },
            noise: settings.number("noise")?,
            interval: settings.whole("interval")?,
            yellow: settings.whole("yellow")?,
            all_red: settings.whole("all_red")?,
            min_green: settings.whole("min_green")?,
        };
        let Options {
            grid,
            lanes,
            turn_lanes,
            length,
            flow,
            noise,
            interval,
            yellow,
            all_red,
            min_green,
            ..
        } = &options;
        if !grid.iter().all(|n| (1..=30).contains(n)) {
            return bad(format!("a grid has 1 to 30 rows and columns, not {} x {}", grid[0], grid[1]));
        }
        if !(1..=4).contains(lanes) || *turn_lanes > 2 {
            return bad(format!(
                "a road has 1 to 4 lanes and 0 to 2 for turning, not {lanes} and {turn_lanes}"
            ));
        }
        if !(100.0..=2000.0).contains(length) {
            return bad(format!("`length` is 100 to 2000 m between junctions, not {length}"));
        }
        if !(0.0..=5000.0).contains(&flow.per_hour) {
            return bad(format!("`flow` is 0 to 5000 vehicles per hour and entry, not {}", flow.per_hour));
        }
        if !(0.0..=1.0).contains(&flow.tilt) {
            return bad(format!(
                "`tilt` is from 0 (none) to 1 (nobody from north and south), not {}",
                flow.tilt
            ));
        }
        if !(1.0..=10.0).contains(&flow.main_road) {
            return bad(format!(
                "`main_road` is 1 to 10 times the demand of other roads, not {}",
                flow.main_road
            ));
        }
        if !(0.0..=0.5).contains(&flow.turning) {
            return bad(format!(
                "`turning` is the probability of a left turn and of a right one, 0 to 0.5, not {}",
                flow.turning
            ));
        }
        if !(0.0..=1.0).contains(noise) {
            return bad(format!("`noise` is from 0 (everybody drives perfectly) to 1, not {noise}"));
        }
        if *yellow == 0 || yellow.saturating_add(*all_red) >= *interval || *interval > 600 {
            return bad(format!(
                "a change is `yellow` (1 or more seconds) and `all_red` (0 or more), and takes less than the `interval` from decision \
                 to decision (at most 600); not {yellow} + {all_red} of {interval}"
            ));
        }
        if *min_green > 600 {
            return bad(format!("`min_green` is at most 600 seconds, not {min_green}"));
        }
        if flow.seconds < *interval || flow.seconds > 1_000_000 {
            return bad(format!(
                "`duration` is at least one interval of {interval} s and at most a million, not {}",
                flow.seconds
            ));
        }
        if options.begin > 100_000_000 {
            return bad(format!("`begin` is a second, at most 100 million, not {}", options.begin));
        }
        if options.net.is_empty() && !options.routes.is_empty() {
            return bad("--routes needs --net: routes name the roads of a net".into());
        }
        Ok(options)
    }

    /// Whether it is a grid that netgenerate makes.
    pub fn is_grid(&self) -> bool {
        self.net.is_empty()
    }

    /// The name of a grid's file: all that netgenerate is told is in it.
    pub fn grid_file(&self) -> String {
        let Options { grid: [rows, cols], lanes, turn_lanes, length, .. } = self;
        format!("grid-{rows}x{cols}-{lanes}-{turn_lanes}-{length}.net.xml")
    }

    /// Decisions of an episode.
    pub fn decisions(&self) -> usize {
        self.flow.seconds / self.interval
    }

    /// The net's file, made in this folder if it is a grid, and the city.
    ///
    /// # Errors
    /// If there is none, or SUMO cannot make it.
    pub fn build(&self, install: impl FnOnce() -> Result<Install>, folder: &Path) -> Result<(PathBuf, City)> {
        if !self.is_grid() {
            let path = PathBuf::from(&self.net);
            let city = self.own_city()?;
            return Ok((path, city));
        }
        let kept = Path::new(&self.kept_in).join(self.grid_file());
        if !self.kept_in.is_empty() && kept.is_file() {
            let city = City::new(Net::read(&kept)?)?;
            return Ok((kept, city));
        }
        let path = folder.join(self.grid_file());
        self.generate(&install()?, &path)?;
        let city = City::new(Net::read(&path)?)?;
        Ok((path, city))
    }

    /// The city of the user's own net.
    ///
    /// # Errors
    /// If the file cannot be read or has no lights.
    pub fn own_city(&self) -> Result<City> {
        let path = Path::new(&self.net);
        for file in [&self.net, &self.routes] {
            no_comma(file)?;
        }
        let city = City::new(Net::read(path)?)
            .map_err(|error| Error::BadWorld(format!("{}: {error}", path.display())))?;
        if self.routes.is_empty() && city.entries.is_empty() {
            return Err(Error::BadWorld(format!(
                "{}: no road leads into the net; give --routes",
                path.display()
            )));
        }
        if !self.routes.is_empty() && !Path::new(&self.routes).is_file() {
            return Err(Error::BadWorld(format!("{}: there is no such file of routes", self.routes)));
        }
        Ok(city)
    }

    /// Has netgenerate write the grid.
    ///
    /// # Errors
    /// If it cannot.
    pub fn generate(&self, install: &Install, path: &Path) -> Result<()> {
        let [rows, cols] = self.grid;
        let length = self.length.to_string();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
        let mut command = Command::new(install.program("netgenerate"));
        command
            .env("SUMO_HOME", install.home())
            .args(["--grid", "--grid.x-number", &cols.to_string(), "--grid.y-number", &rows.to_string()])
            .args(["--grid.length", &length, "--grid.attach-length", &length])
            .args(["--default.lanenumber", &self.lanes.to_string()])
            .args([
                "--turn-lanes",
                &self.turn_lanes.to_string(),
                "--turn-lanes.length",
                &(0.3 * self.length).to_string(),
            ])
            .args([
                "--default-junction-type",
                "traffic_light",
                "--no-turnarounds",
                "true",
                "--no-warnings",
                "true",
            ])
            .arg("--output-file")
            .arg(&path);
        let said = ask(&mut command).map_err(|error| {
            Error::BadWorld(format!("netgenerate made no grid: {error}; is SUMO installed well?"))
        })?;
        if said.status.success() {
            // On a full disk netgenerate writes what fits, and says that all went well.
            let whole = std::fs::read_to_string(&path).is_ok_and(|net| net.trim_end().ends_with("</net>"));
            return if whole { Ok(()) } else { Err(not_whole(&path)) };
        }
        let text = String::from_utf8_lossy(&said.stderr).into_owned();
        let line = text.lines().find(|l| l.starts_with("Error")).unwrap_or("it did not say why").to_string();
        Err(Error::BadWorld(format!("netgenerate could not write {}: {line}", path.display())))
    }
}

/// SUMO takes a comma for the end of a file's name.
///
/// # Errors
/// If there is one.
pub(crate) fn no_comma(path: &str) -> Result<()> {
    match path.contains(',') {
        false => Ok(()),
        true => Err(Error::BadWorld(format!(
            "{path}: SUMO cannot read files with a comma in their path; rename it, or the folder"
        ))),
    }
}

fn not_whole(path: &Path) -> Error {
    let folder = path.parent().unwrap_or(path).display();
    let advice = match path.starts_with(std::env::temp_dir()) {
        true => "TMPDIR names another folder".into(),
        false => format!("make room in {folder}, or give another --out"),
    };
    Error::BadWorld(format!(
        "netgenerate could not write all of {}: is the disk full? ({advice})",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::not_whole;
    use std::path::Path;

    #[test]
    fn a_full_disk_is_told_by_its_folder() {
        let of = |path: &Path| not_whole(path).to_string();
        assert!(of(&std::env::temp_dir().join("equimarl-sumo-1/a.net.xml")).contains("TMPDIR"));
        let kept = of(Path::new("/runs/city/world/a.net.xml"));
        assert!(kept.contains("make room in /runs/city/world") && !kept.contains("TMPDIR"), "{kept}");
    }
}
