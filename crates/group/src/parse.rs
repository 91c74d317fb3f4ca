//! The language of groups: `C4`, `D4`, `S3`, `C4 x C2`, `perm[1 2 0; 1 0 2]`, `matrix[0 -1, 1 0]`.

use crate::error::{Error, Result};
use crate::group::Group;
use crate::text::Cursor;
use std::str::FromStr;

const HELP: &str =
    "write C4, D4, S3, C4 x C2, perm[1 2 0; 1 0 2] or matrix[0 -1, 1 0] (generators separated by `;`)";
const MAX_DEPTH: usize = 16;

impl FromStr for Group {
    type Err = Error;

    fn from_str(text: &str) -> Result<Group> {
        let mut cursor = Cursor::new("the group", text)?;
        let group = product(&mut cursor, 0)?;
        cursor.end()?;
        Ok(group)
    }
}

fn product(cursor: &mut Cursor, depth: usize) -> Result<Group> {
    let mut group = factor(cursor, depth)?;
    while cursor.eat("x") || cursor.eat("×") {
        group = group.product(&factor(cursor, depth)?)?;
    }
    Ok(group)
}

fn factor(cursor: &mut Cursor, depth: usize) -> Result<Group> {
    if cursor.eat("(") {
        if depth >= MAX_DEPTH {
            return Err(cursor.error("too many brackets"));
        }
        let group = product(cursor, depth + 1)?;
        cursor.expect(")")?;
        return Ok(group);
    }
    if cursor.eat("perm[") {
        return Group::from_permutations(&cursor.permutations()?);
    }
    if cursor.eat("matrix[") {
        let matrices = cursor.matrices()?;
        let dim = matrices[0].nrows();
        let rows: Vec<Vec<f64>> = matrices.iter().map(|m| m.transpose().iter().copied().collect()).collect();
        return Group::from_matrices(dim, &rows);
    }
    let family = cursor.peek();
    match family {
        Some('S') if cursor.eat("SO2") => Err(cursor.error(
            "SO2, all turns of the plane, is no finite group; networks and worlds take it (--group SO2), and here C8 or another C_n \
             stands for it",
        )),
        Some('C' | 'D' | 'S') => {
            cursor.eat(&family.map(String::from).unwrap_or_default());
            let n = cursor.integer().map_err(|_| cursor.error(HELP))?;
            match family {
                Some('C') => Group::cyclic(n),
                Some('D') => Group::dihedral(n),
                _ => Group::symmetric(n),
            }
        }
        Some('O') if cursor.eat("O2") => Err(cursor.error(
            "O2, all turns and mirrors of the plane, is no finite group; networks and worlds take it (--group O2), and here \
             D8 or another D_n stands for it",
        )),
        Some(c) => Err(cursor.error(format!("no family of groups is called `{c}`; {HELP}"))),
        None => Err(cursor.error(HELP)),
    }
}
