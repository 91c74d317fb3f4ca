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

/// 37.8 million, 1.25 trillion: three digits and a word.
pub(crate) fn large(value: f64) -> String {
    let (unit, word) = match value.abs() {
        a if !a.is_finite() => return "-".into(),
        a if a >= 1e12 => (1e12, " trillion"),
        a if a >= 1e9 => (1e9, " billion"),
        a if a >= 1e6 => (1e6, " million"),
        _ => return thousands(value),
    };
    let scaled = value / unit;
    let decimals = if scaled.abs() >= 100.0 { 0 } else { 1 + usize::from(scaled.abs() < 10.0) };
    format!("{}{word}", number(scaled, decimals))
}

/// Seconds: 0.42, 7.3, 1,234.
pub(crate) fn seconds(value: f64) -> String {
    match value {
        v if v < 1.0 => number(v, 2),
        v if v < 10.0 => number(v, 1),
        v => thousands(v),
    }
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
        assert_eq!(
            [123_456.0, 37_829_376.0, 1.25e12, 5.5e14].map(large),
            ["123,456", "37.8 million", "1.25 trillion", "550 trillion"]
        );
        assert_eq!([0.417, 7.31, 1234.4].map(seconds), ["0.42", "7.3", "1,234"]);
        assert_eq!([count(1, "run"), count(0, "run")], ["1 run", "0 runs"]);
    }
}
