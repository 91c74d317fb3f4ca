//! Records as TensorFlow frames them, and the events inside.
//!
//! ```text
//! record = length (u64) | masked crc of the length (u32) | data | masked crc of the data (u32)      all little endian
//! masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8
//! event  = { 1: wall time (double), 2: step (int64), 3: file version | 5: summary | 7: session }    protocol buffers
//! ```

/// CRC-32C (Castagnoli), as in RFC 3720.
pub(super) fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0x82f6_3b78 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// Data in its frame.
pub(super) fn framed(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut record = length.to_vec();
    record.extend(masked(&length));
    record.extend(data);
    record.extend(masked(data));
    record
}

/// A number of seven bits a byte, the lowest first.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A field with a length and bytes.
fn bytes(field: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(field << 3 | 2);
    varint(content.len() as u64, out);
    out.extend(content);
}

/// What happened.
pub(super) enum What<'a> {
    /// A file begins.
    Version,
    /// A process began; what was logged from this step on does not count any more.
    Start,
    /// Values by name.
    Scalars(&'a [(String, f64)]),
}

/// An event at a time (seconds) and step, in its frame.
pub(super) fn event(time: f64, step: u64, what: &What<'_>) -> Vec<u8> {
    let mut data = vec![1 << 3 | 1];
    data.extend(time.to_le_bytes());
    if step > 0 {
        data.push(2 << 3);
        varint(step, &mut data);
    }
    match what {
        What::Version => bytes(3, b"brain.Event:2", &mut data),
        // { 1: status = START }
        What::Start => bytes(7, &[1 << 3, 1], &mut data),
        What::Scalars(values) => {
            let mut summary = vec![];
            for (tag, value) in *values {
                let mut one = vec![];
                bytes(1, tag.as_bytes(), &mut one);
                one.push(2 << 3 | 5);
                one.extend((*value as f32).to_le_bytes());
                bytes(1, &one, &mut summary);
            }
            bytes(5, &summary, &mut data);
        }
    }
    framed(&data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_the_standard() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        // RFC 3720, B.4
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        let rising: Vec<u8> = (0..32).collect();
        assert_eq!(crc32c(&rising), 0x46dd_794e);
    }

    /// What tensorboard 2.21.0's own `RecordWriter` writes of the same events.
    #[test]
    fn events_are_those_of_tensorboard() {
        let hex = |bytes: Vec<u8>| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(
            hex(event(1.5, 0, &What::Version)),
            "1800000000000000a37f4b2209000000000000f83f1a0d627261696e2e4576656e743a322a28646c"
        );
        assert_eq!(
            hex(event(1.5, 300, &What::Start)),
            "100000000000000095fbfe1809000000000000f83f10ac023a020801713b788a"
        );
        let values = [("train/return".to_string(), 2.5), ("a".to_string(), -1.0)];
        assert_eq!(
            hex(event(1.5, 300, &What::Scalars(&values))),
            "2d000000000000003c418afb09000000000000f83f10ac022a1f0a130a0c747261696e2f72657475726e15000020400a080a01611500\
             0080bf1aa8a1c6"
        );
    }
}
