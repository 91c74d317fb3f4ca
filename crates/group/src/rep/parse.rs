//! The language of representations: `8*regular + rotation`, `quotient(C2)`, `perm[0 4 1 2 3]`, `tensor(a, b)`.

use super::Rep;
use crate::error::Result;
use crate::group::Group;
use crate::subgroup::Subgroup;
use crate::text::Cursor;
use std::collections::HashMap;

const NAMES: &str = "trivial, sign, regular, quotient(C2), rotation, natural, pixels(5), perm[...], matrix[...], \
                     dual(...), tensor(..., ...)";
const MAX_DEPTH: usize = 16;

pub(super) fn parse(group: &Group, text: &str) -> Result<Rep> {
    let mut parser =
        Parser { group, cursor: Cursor::new("the representation", text)?, known: HashMap::new(), depth: 0 };
    let rep = parser.sum()?;
    parser.cursor.end()?;
    Ok(rep)
}

struct Parser<'a> {
    group: &'a Group,
    cursor: Cursor<'a>,
    /// Each simple name is built once: repeated summands share their matrices.
    known: HashMap<&'a str, Rep>,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn sum(&mut self) -> Result<Rep> {
        let mut rep = self.term()?;
        while self.cursor.eat("+") {
            rep = rep.plus(&self.term()?)?;
        }
        Ok(rep)
    }

    fn term(&mut self) -> Result<Rep> {
        if !self.cursor.peek().is_some_and(|c| c.is_ascii_digit()) {
            return self.factor();
        }
        let count = self.cursor.integer()?;
        self.cursor.expect("*")?;
        if count == 0 {
            return Err(self.cursor.error("0 copies of a representation are nothing; write at least 1"));
        }
        self.factor()?.copies(count)
    }

    fn factor(&mut self) -> Result<Rep> {
        if self.cursor.eat("perm[") {
            return Rep::permutation(self.group, &self.cursor.permutations()?);
        }
        if self.cursor.eat("matrix[") {
            return Rep::matrices(self.group, &self.cursor.matrices()?);
        }
        let name = self.cursor.take_while(|c| c.is_alphanumeric() || c == '_');
        match name {
            "dual" | "tensor" => self.compound(name),
            "quotient" => {
                self.cursor.expect("(")?;
                let inner = self.cursor.up_to_closing('(', ')')?;
                Rep::quotient(&Subgroup::named(self.group, inner)?)
            }
            "pixels" => {
                let n = self.argument()?;
                Rep::pixels(self.group, n)
            }
            "rotation" if self.cursor.peek() == Some('(') => {
                let frequency = self.argument()?;
                Rep::rotation(self.group, frequency)
            }
            _ => {
                if let Some(rep) = self.known.get(name) {
                    return Ok(rep.clone());
                }
                let rep = match name {
                    "trivial" | "freq0" => Rep::trivial(self.group),
                    "sign" => Rep::sign(self.group)?,
                    "regular" => Rep::regular(self.group)?,
                    "rotation" | "freq1" => Rep::rotation(self.group, 1)?,
                    "freq2" => Rep::rotation(self.group, 2)?,
                    "natural" => Rep::natural(self.group)?,
                    "" => {
                        let found = match self.cursor.peek() {
                            Some(c) => format!("`{c}`"),
                            None => "the end".into(),
                        };
                        return Err(self
                            .cursor
                            .error(format!("expected a representation, found {found}; there are {NAMES}")));
                    }
                    other => {
                        let other = crate::error::shorten(other);
                        return Err(self
                            .cursor
                            .error(format!("no representation is called `{other}`; there are {NAMES}")));
                    }
                };
                self.known.insert(name, rep.clone());
                Ok(rep)
            }
        }
    }

    fn argument(&mut self) -> Result<usize> {
        self.cursor.expect("(")?;
        let n = self.cursor.integer()?;
        self.cursor.expect(")")?;
        Ok(n)
    }

    fn compound(&mut self, name: &str) -> Result<Rep> {
        if self.depth >= MAX_DEPTH {
            return Err(self.cursor.error("too many brackets"));
        }
        self.depth += 1;
        self.cursor.expect("(")?;
        let mut rep = self.sum()?;
        if name == "dual" {
            rep = rep.dual()?;
        } else {
            self.cursor.expect(",")?;
            rep = rep.tensor(&self.sum()?)?;
        }
        self.cursor.expect(")")?;
        self.depth -= 1;
        Ok(rep)
    }
}
