//! Reading and writing the little language of groups and representations.

use crate::error::{Error, Result, parse_error};
use nalgebra::DMatrix;

/// The longest text we read: enough for any sensible list of generators, too little to hurt.
const MAX_TEXT: usize = 1 << 20;

/// A reader over text that knows what it is reading, for its error messages.
pub(crate) struct Cursor<'a> {
    what: &'static str,
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(what: &'static str, text: &'a str) -> Result<Cursor<'a>> {
        if text.len() > MAX_TEXT {
            return Err(Error::TooLarge {
                what: format!("the text of {what}"),
                size: format!("{} bytes", text.len()),
                limit: MAX_TEXT,
            });
        }
        Ok(Cursor { what, text, at: 0 })
    }

    pub fn error(&self, reason: impl Into<String>) -> Error {
        parse_error(self.what, self.text, reason)
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    pub fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest().chars().next()
    }

    /// Takes `token` if it comes next.
    pub fn eat(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub fn expect(&mut self, token: &str) -> Result<()> {
        if self.eat(token) {
            return Ok(());
        }
        let found = match self.peek() {
            Some(c) => format!("`{c}`"),
            None => "the end".into(),
        };
        Err(self.error(format!("expected `{token}`, found {found}")))
    }

    /// The longest run of characters that satisfy `wanted`.
    pub fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub fn integer(&mut self) -> Result<usize> {
        let digits = self.take_while(|c| c.is_ascii_digit());
        if digits.is_empty() {
            return Err(self.error("expected a whole number"));
        }
        digits.parse().map_err(|_| self.error(format!("the number {digits} is too large")))
    }

    fn number(&mut self) -> Result<f64> {
        let digits = self.take_while(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
        digits.parse().map_err(|_| self.error(format!("`{digits}` is not a number")))
    }

    /// Everything up to the bracket that closes the one already read, which is taken too.
    pub fn up_to_closing(&mut self, open: char, close: char) -> Result<&'a str> {
        let start = self.at;
        let mut depth = 1usize;
        for (i, c) in self.rest().char_indices() {
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
                if depth == 0 {
                    self.at = start + i + close.len_utf8();
                    return Ok(&self.text[start..start + i]);
                }
            }
        }
        Err(self.error(format!("`{open}` is never closed by `{close}`")))
    }

    pub fn end(&mut self) -> Result<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.error(format!("did not expect `{}`", crate::error::shorten(self.rest())))),
        }
    }

    /// `0 1 2 ; 1 0 2]`: one permutation per generator, up to and with the closing bracket.
    pub fn permutations(&mut self) -> Result<Vec<Vec<usize>>> {
        let mut lists = vec![vec![]];
        loop {
            match self.peek() {
                Some(c) if c.is_ascii_digit() => {
                    let i = self.integer()?;
                    last(&mut lists).push(i);
                }
                Some(';') => {
                    self.expect(";")?;
                    lists.push(vec![]);
                }
                _ => {
                    self.expect("]")?;
                    return Ok(lists);
                }
            }
        }
    }

    /// `0 -1, 1 0 ; 1 0, 0 -1]`: one matrix per generator, its rows separated by commas.
    pub fn matrices(&mut self) -> Result<Vec<DMatrix<f64>>> {
        let mut matrices: Vec<Vec<Vec<f64>>> = vec![vec![vec![]]];
        loop {
            match self.peek() {
                Some(',') => {
                    self.expect(",")?;
                    last(&mut matrices).push(vec![]);
                }
                Some(';') => {
                    self.expect(";")?;
                    matrices.push(vec![vec![]]);
                }
                Some(']') => {
                    self.expect("]")?;
                    break;
                }
                Some(_) => {
                    let value = self.number()?;
                    last(last(&mut matrices)).push(value);
                }
                None => return Err(self.error("`[` is never closed by `]`")),
            }
        }
        matrices
            .into_iter()
            .map(|rows| {
                let n = rows.len();
                if rows.iter().any(|row| row.len() != n) {
                    return Err(self.error(format!(
                        "a matrix of {n} rows needs {n} numbers in each row (rows are separated by `,`, generators by `;`)"
                    )));
                }
                Ok(DMatrix::from_row_iterator(n, n, rows.into_iter().flatten()))
            })
            .collect()
    }
}

fn last<T: Default>(items: &mut Vec<T>) -> &mut T {
    if items.is_empty() {
        items.push(T::default());
    }
    let end = items.len() - 1;
    &mut items[end]
}

/// Permutations as they are written between brackets.
pub(crate) fn lists(permutations: &[Vec<usize>]) -> String {
    let list = |p: &Vec<usize>| p.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    permutations.iter().map(list).collect::<Vec<_>>().join("; ")
}

/// Matrices as they are written between brackets. Numbers print with all their digits, so reading gives them back.
pub(crate) fn matrices(matrices: &[DMatrix<f64>]) -> String {
    let row = |r: nalgebra::DVector<f64>| r.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let matrix = |m: &DMatrix<f64>| m.row_iter().map(|r| row(r.transpose())).collect::<Vec<_>>().join(", ");
    matrices.iter().map(matrix).collect::<Vec<_>>().join("; ")
}

/// A word in generators a, b, c, ...: `a2b` is a a b.
pub(crate) fn word(letters: &[usize], generators: usize) -> String {
    if letters.is_empty() {
        return "e".into();
    }
    // `e` is the identity, so it is left out of the alphabet; many generators get numbers.
    let name = |s: usize| match "abcdfghijklmnopqrstuvwxyz".chars().nth(s) {
        Some(c) if generators <= 25 => c.to_string(),
        _ => format!("<{s}>"),
    };
    letters
        .chunk_by(|a, b| a == b)
        .map(|run| match run.len() {
            1 => name(run[0]),
            n => format!("{}{n}", name(run[0])),
        })
        .collect()
}
