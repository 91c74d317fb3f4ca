//! Commands, as they are written.

use super::id;

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
