//! Whole numbers on the command line.

/// Floating point numbers up to here are exact.
const EXACT: f64 = (1u64 << 53) as f64;

/// A whole number, also as 1e5.
pub fn whole<T: TryFrom<u64>>(text: &str) -> Result<T, String> {
    let short = |x: f64| (x.fract() == 0.0 && (0.0..=EXACT).contains(&x)).then_some(x as u64);
    let number = text.parse().ok().or_else(|| text.parse().ok().and_then(short));
    let found = match number {
        Some(found) => found,
        None if text.parse::<f64>().is_ok_and(|x| x > EXACT && x.is_finite()) => {
            return Err(format!("{text} is more than fits here"));
        }
        None => return Err("write a whole number such as 100000 or 1e5".into()),
    };
    T::try_from(found).map_err(|_| format!("{found} is more than fits"))
}

#[cfg(test)]
mod tests {
    use super::whole;

    #[test]
    fn whole_numbers_may_be_written_short_and_nothing_else_is_one() {
        for (text, number) in [
            ("0", 0),
            ("100000", 100_000),
            ("1e5", 100_000),
            ("2.5e3", 2500),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(whole(text), Ok(number), "{text}");
        }
        for text in ["", "-1", "1.5", "1e-3", "nan", "inf", "many", "1_000"] {
            assert!(whole::<u64>(text).unwrap_err().contains("such as 100000"), "{text}");
        }
        assert!(whole::<u64>("1e18").unwrap_err().contains("more than fits"));
        assert!(whole::<u64>("18446744073709551616").unwrap_err().contains("more than fits"));
        assert!(whole::<u32>("1e10").unwrap_err().contains("more than fits"));
    }
}
