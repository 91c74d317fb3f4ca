//! Examples in the help, with worlds that this program has.

use crate::registry;

/// Lines of examples: `{program}` is what this program is called, `{world}` its first world, `{other}` its second.
pub fn examples(before: &str, lines: &[&str]) -> String {
    let names = registry().names();
    let world = names.first().copied().unwrap_or("NAME");
    let other = names.get(1).copied().unwrap_or(world);
    let program = program();
    let fill =
        |text: &str| text.replace("{program}", &program).replace("{world}", world).replace("{other}", other);
    let title = if lines.len() == 1 { "Example:" } else { "Examples:" };
    let lines: Vec<String> = lines.iter().map(|line| format!("  {} {}", program, fill(line))).collect();
    let before = if before.is_empty() { String::new() } else { format!("{}\n\n", fill(before)) };
    format!("{before}{title}\n{}", lines.join("\n"))
}

/// What this program is called: a program with worlds of its own has a name of its own.
pub fn program() -> String {
    let path = std::env::args_os().next().unwrap_or_default();
    let name = std::path::Path::new(&path).file_stem().map(|n| n.to_string_lossy().into_owned());
    name.filter(|n| !n.is_empty()).unwrap_or_else(|| "equimarl".into())
}
