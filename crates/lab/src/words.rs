//! Numbers for people.

/// 12,345; rounded to whole numbers.
pub(crate) fn thousands(value: f64) -> String {
    if !value.is_finite() {
        return "-".into();
    }
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    if value < 0.0 { format!("-{text}") } else { text }
}

/// With so many decimals, or a dash if there is no number.
pub(crate) fn number(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { "-".into() }
}

/// 1 run, 2 runs.
pub(crate) fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped() {
        assert_eq!([0.0, 999.0, 1000.0, 1_234_567.4].map(thousands), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([thousands(-1500.0), thousands(f64::NAN)], ["-1,500", "-"]);
        assert_eq!([count(1, "run"), count(0, "run")], ["1 run", "0 runs"]);
    }
}
