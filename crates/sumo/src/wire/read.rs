//! Answers, as they are read.

use super::{Garbled, Result, id};

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

    /// The answer to [`super::Frame::ask_option`].
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
