//! TraCI as bytes: frames of commands, and what comes back. Numbers are big-endian.
//!
//! ```text
//! frame     i32 length of all, then commands
//! command   u8 length, u8 id, body            or, above 255 bytes,  u8 0, i32 length, u8 id, body
//! status    command with id of what it answers: u8 result (0 is good), string
//! string    i32 length, bytes
//! ```

use std::fmt;

/// Ids of commands and variables, as in SUMO's `constants.py`.
pub mod id {
    /// Who is there.
    pub const VERSION: u8 = 0x00;
    /// Go on to a time.
    pub const STEP: u8 = 0x02;
    /// The end.
    pub const CLOSE: u8 = 0x7f;
    /// Ask for something about the simulation.
    pub const ASK_SIMULATION: u8 = 0xab;
    /// An option that SUMO was started with.
    pub const OPTION: u8 = 0x32;
    /// Set something about a light.
    pub const SET_LIGHT: u8 = 0xc2;
    /// Tell the variables of a light after every step.
    pub const WATCH_LIGHT: u8 = 0xd2;
    /// Tell the variables of the simulation after every step.
    pub const WATCH_SIMULATION: u8 = 0xdb;
    /// Tell the variables of everything around a junction after every step.
    pub const WATCH_AROUND_JUNCTION: u8 = 0x89;
    /// What is told of a light.
    pub const TOLD_LIGHT: u8 = 0xe2;
    /// What is told of the simulation.
    pub const TOLD_SIMULATION: u8 = 0xeb;
    /// What is told of everything around a junction.
    pub const TOLD_AROUND_JUNCTION: u8 = 0x99;
    /// Vehicles, as what may be around something.
    pub const VEHICLES: u8 = 0xa4;
    /// The state of a light, one letter per link.
    pub const STATE: u8 = 0x20;
    /// The number of a light's phase.
    pub const PHASE: u8 = 0x22;
    /// The program of a light, by name.
    pub const PROGRAM: u8 = 0x23;
    /// The program of a light, all of it.
    pub const WHOLE_PROGRAM: u8 = 0x2c;
    /// Vehicles that could not enter yet.
    pub const PENDING: u8 = 0x94;
    /// The speed of a vehicle.
    pub const SPEED: u8 = 0x40;
    /// Where a vehicle is.
    pub const POSITION: u8 = 0x42;
    /// Its lane.
    pub const LANE: u8 = 0x51;
    /// How far along its lane it is.
    pub const LANE_POSITION: u8 = 0x56;
    /// For how long it has stood still.
    pub const WAITING: u8 = 0x7a;
}

/// Bytes that are not TraCI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Garbled(pub String);

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SUMO's answer cannot be read: {}", self.0)
    }
}

type Result<T> = std::result::Result<T, Garbled>;

/// A frame of commands that is being written. Many commands fit into one; what a step tells comes with its answer.
#[derive(Clone, Debug, Default)]
pub struct Frame(Vec<u8>);

/// The body of a command, or a part of it.
#[derive(Clone, Debug, Default)]
pub struct Body(Vec<u8>);

impl Body {
    /// Raw bytes.
    pub fn bytes(mut self, bytes: &[u8]) -> Body {
        self.0.extend_from_slice(bytes);
        self
    }

    /// A length or a count.
    pub fn count(self, n: usize) -> Body {
        self.bytes(&(n as i32).to_be_bytes())
    }

    /// A number.
    pub fn double(self, x: f64) -> Body {
        self.bytes(&x.to_be_bytes())
    }

    /// A text.
    pub fn string(self, text: &str) -> Body {
        self.count(text.len()).bytes(text.as_bytes())
    }

    /// With its type before it.
    fn typed_int(self, n: i32) -> Body {
        self.bytes(&[0x09]).bytes(&n.to_be_bytes())
    }

    fn typed_double(self, x: f64) -> Body {
        self.bytes(&[0x0b]).double(x)
    }

    /// A text with its type before it.
    pub fn typed_string(self, text: &str) -> Body {
        self.bytes(&[0x0c]).string(text)
    }

    fn compound(self, n: usize) -> Body {
        self.bytes(&[0x0f]).count(n)
    }
}

impl Frame {
    /// One command more.
    pub fn command(&mut self, id: u8, body: Body) {
        let length = body.0.len() + 2;
        match u8::try_from(length) {
            Ok(short) => self.0.extend_from_slice(&[short, id]),
            Err(_) => {
                self.0.push(0);
                self.0.extend_from_slice(&(length as i32 + 4).to_be_bytes());
                self.0.push(id);
            }
        }
        self.0.extend_from_slice(&body.0);
    }

    /// Ask for an option that SUMO was started with.
    pub fn ask_option(&mut self, option: &str) {
        self.command(id::ASK_SIMULATION, Body::default().bytes(&[id::OPTION]).string(option));
    }

    /// Go on to this second.
    pub fn step_to(&mut self, second: f64) {
        self.command(id::STEP, Body::default().double(second));
    }

    /// A light goes through these states, each for so many seconds, and stays in the last.
    pub fn light(&mut self, light: &str, states: &[(f64, &str)]) {
        let mut body = Body::default().bytes(&[id::WHOLE_PROGRAM]).string(light);
        body = body.compound(5).typed_string("equimarl").typed_int(0).typed_int(0).compound(states.len());
        for (seconds, state) in states {
            body = body.compound(6).typed_double(*seconds).typed_string(state);
            body = body.typed_double(*seconds).typed_double(*seconds).compound(0).typed_string("");
        }
        self.command(id::SET_LIGHT, body.compound(0));
        // SUMO replaces the phases of a program that it knows and leaves its clock as it was: in the middle of a green without
        // end. Going to the first phase starts it.
        let first = Body::default().bytes(&[id::PHASE]).string(light).typed_int(0);
        self.command(id::SET_LIGHT, first);
    }

    /// A light runs one of its programs.
    pub fn program(&mut self, light: &str, program: &str) {
        self.command(
            id::SET_LIGHT,
            Body::default().bytes(&[id::PROGRAM]).string(light).typed_string(program),
        );
    }

    /// After every step, tell these variables of something.
    pub fn watch(&mut self, command: u8, what: &str, variables: &[u8]) {
        let body = Body::default().double(0.0).double(1e9).string(what);
        self.command(command, body.bytes(&[variables.len() as u8]).bytes(variables));
    }

    /// After every step, tell these variables of all vehicles within this many metres of a junction.
    pub fn watch_vehicles(&mut self, junction: &str, metres: f64, variables: &[u8]) {
        let body = Body::default().double(0.0).double(1e9).string(junction);
        let body = body.bytes(&[id::VEHICLES]).double(metres);
        self.command(id::WATCH_AROUND_JUNCTION, body.bytes(&[variables.len() as u8]).bytes(variables));
    }

    /// The bytes to send.
    pub fn finish(self) -> Vec<u8> {
        let mut all = (self.0.len() as i32 + 4).to_be_bytes().to_vec();
        all.extend(self.0);
        all
    }
}

/// A value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A number.
    Double(f64),
    /// A text.
    Text(String),
    /// Several texts.
    Texts(Vec<String>),
    /// A point of the plane.
    Point([f64; 2]),
}

impl Value {
    /// The number that it is.
    ///
    /// # Errors
    /// If it is none.
    pub fn number(&self) -> Result<f64> {
        match self {
            Value::Int(n) => Ok(*n as f64),
            Value::Double(x) => Ok(*x),
            other => Err(Garbled(format!("{other:?} is no number"))),
        }
    }

    /// The text that it is.
    ///
    /// # Errors
    /// If it is none.
    pub fn text(&self) -> Result<&str> {
        match self {
            Value::Text(text) => Ok(text),
            other => Err(Garbled(format!("{other:?} is no text"))),
        }
    }
}

/// What is told of one thing after a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Its name.
    pub what: String,
    /// Its variables.
    pub values: Vec<(u8, Value)>,
}

impl Told {
    /// One of its variables.
    ///
    /// # Errors
    /// If it is not there.
    pub fn get(&self, variable: u8) -> Result<&Value> {
        let found = self.values.iter().find(|(v, _)| *v == variable);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| Garbled(format!("{} has no variable {variable:#x}", self.what)))
    }
}

/// All that is told after a step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct News {
    /// Of lights.
    pub lights: Vec<Told>,
    /// Of the simulation.
    pub simulation: Option<Told>,
    /// Of vehicles.
    pub vehicles: Vec<Told>,
}

/// Reads an answer from its start.
#[derive(Clone, Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// An answer without the length of its frame.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8]> {
        if n > self.0.len() {
            return Err(Garbled(format!("{n} bytes are wanted and {} are left", self.0.len())));
        }
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.take(1)?[0])
    }

    fn int(&mut self) -> Result<i32> {
        let bytes = self.take(4)?;
        Ok(i32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    fn count(&mut self) -> Result<usize> {
        let n = self.int()?;
        // Nothing that is counted is smaller than a byte.
        usize::try_from(n)
            .ok()
            .filter(|n| *n <= self.0.len())
            .ok_or_else(|| Garbled(format!("a count is {n}")))
    }

    fn double(&mut self) -> Result<f64> {
        let bytes = self.take(8)?;
        let mut eight = [0; 8];
        eight.copy_from_slice(bytes);
        Ok(f64::from_be_bytes(eight))
    }

    fn string(&mut self) -> Result<String> {
        let n = self.count()?;
        Ok(String::from_utf8_lossy(self.take(n)?).into_owned())
    }

    fn value(&mut self) -> Result<Value> {
        Ok(match self.byte()? {
            0x01 => Value::Point([self.double()?, self.double()?]),
            0x03 => {
                let point = [self.double()?, self.double()?];
                self.double()?;
                Value::Point(point)
            }
            0x07 => Value::Int(i64::from(self.byte()?)),
            0x09 => Value::Int(i64::from(self.int()?)),
            0x0b => Value::Double(self.double()?),
            0x0c => Value::Text(self.string()?),
            0x0e => {
                let n = self.count()?;
                Value::Texts((0..n).map(|_| self.string()).collect::<Result<_>>()?)
            }
            kind => return Err(Garbled(format!("a value is of the unknown kind {kind:#x}"))),
        })
    }

    /// The id of the next part. Its length is passed over: what is inside says where it ends, and old servers have it wrong
    /// for long answers (SUMO's issue 10108).
    fn head(&mut self) -> Result<u8> {
        if self.byte()? == 0 {
            self.int()?;
        }
        self.byte()
    }

    /// The answer to a command: whether it went well.
    ///
    /// # Errors
    /// With SUMO's own words if it did not, or if this is no such answer.
    pub fn status(&mut self, command: u8) -> Result<()> {
        let (found, result, text) = (self.head()?, self.byte()?, self.string()?);
        match result {
            0 if found == command => Ok(()),
            0 => Err(Garbled(format!("it answers command {found:#x} instead of {command:#x}"))),
            _ => Err(Garbled(text)),
        }
    }

    /// The version of the protocol and SUMO's own.
    ///
    /// # Errors
    /// If this is no such answer.
    pub fn version(&mut self) -> Result<(i32, String)> {
        self.status(id::VERSION)?;
        self.head()?;
        Ok((self.int()?, self.string()?))
    }

    /// The answer to [`Frame::ask_option`].
    ///
    /// # Errors
    /// If this is no such answer.
    pub fn option(&mut self) -> Result<String> {
        self.status(id::ASK_SIMULATION)?;
        self.head()?;
        self.byte()?;
        self.string()?;
        match self.value()? {
            Value::Text(text) => Ok(text),
            other => Err(Garbled(format!("an option is {other:?}"))),
        }
    }

    /// What one subscription tells.
    fn told(&mut self, news: &mut News) -> Result<()> {
        let kind = self.head()?;
        let what = self.string()?;
        match kind {
            id::TOLD_AROUND_JUNCTION => {
                self.byte()?;
                let variables = self.byte()?;
                let count = self.count()?;
                for _ in 0..count {
                    let what = self.string()?;
                    let values = self.variables(variables)?;
                    news.vehicles.push(Told { what, values });
                }
            }
            _ => {
                let variables = self.byte()?;
                let told = Told { what, values: self.variables(variables)? };
                match kind {
                    id::TOLD_LIGHT => news.lights.push(told),
                    id::TOLD_SIMULATION => news.simulation = Some(told),
                    _ => return Err(Garbled(format!("it tells something of the unknown kind {kind:#x}"))),
                }
            }
        }
        Ok(())
    }

    fn variables(&mut self, count: u8) -> Result<Vec<(u8, Value)>> {
        let one = |reader: &mut Self| {
            let (variable, status) = (reader.byte()?, reader.byte()?);
            let value = reader.value()?;
            match status {
                0 => Ok((variable, value)),
                _ => Err(Garbled(format!("variable {variable:#x}: {value:?}"))),
            }
        };
        (0..count).map(|_| one(self)).collect()
    }

    /// The answer to a subscription: that it was taken, and what it tells at once.
    ///
    /// # Errors
    /// If it was not.
    pub fn watched(&mut self, command: u8) -> Result<()> {
        self.status(command)?;
        self.told(&mut News::default())
    }

    /// The answer to a step.
    ///
    /// # Errors
    /// If the step failed, or something cannot be read.
    pub fn news(&mut self) -> Result<News> {
        self.status(id::STEP)?;
        let mut news = News::default();
        let count = self.count()?;
        for _ in 0..count {
            self.told(&mut news)?;
        }
        match self.0.len() {
            0 => Ok(news),
            left => Err(Garbled(format!("{left} bytes are left over"))),
        }
    }
}
