//! Images in few bytes, without loss.
//!
//! An image of at most 16 distinct values is a palette and 1, 2 or 4 bits a pixel; any other is its numbers.

use crate::message::Reader;
use crate::tally::Reason;

/// More pixels than this are refused before memory is taken.
pub const MAX_PIXELS: usize = 1 << 19;

/// Appends the image.
pub fn write(image: &[f32], bytes: &mut Vec<u8>) {
    let mut palette: Vec<u32> = vec![];
    let mut indices = Vec::with_capacity(image.len());
    // Neighbouring pixels are mostly alike.
    let (mut last, mut at) = (None, 0);
    for value in image.iter().map(|v| v.to_bits()) {
        if last != Some(value) {
            at = palette.iter().position(|&p| p == value).unwrap_or(palette.len());
            last = Some(value);
            if at == palette.len() {
                palette.push(value);
            }
            if palette.len() > 16 {
                break;
            }
        }
        indices.push(at as u8);
    }
    bytes.extend_from_slice(&(image.len() as u32).to_le_bytes());
    if palette.len() > 16 {
        bytes.push(0);
        image.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
        return;
    }
    bytes.push(palette.len() as u8);
    palette.iter().for_each(|v| bytes.extend_from_slice(&v.to_le_bytes()));
    let bits = bits(palette.len());
    for group in indices.chunks(8 / bits) {
        bytes.push(group.iter().enumerate().fold(0, |byte, (i, index)| byte | index << (i * bits)));
    }
}

/// Reads an image of exactly `pixels` pixels.
pub(crate) fn read(reader: &mut Reader<'_>, pixels: usize) -> Result<Vec<f32>, Reason> {
    if reader.u32()? as usize != pixels || pixels > MAX_PIXELS {
        return Err(Reason::Malformed);
    }
    let colours = reader.u8()? as usize;
    if colours == 0 {
        return reader.f32s(pixels);
    }
    if colours > 16 {
        return Err(Reason::Malformed);
    }
    let palette = reader.f32s(colours)?;
    let bits = bits(colours);
    let packed = reader.bytes(pixels.div_ceil(8 / bits))?;
    let mut image = Vec::with_capacity(pixels);
    let mask = (1u8 << bits) - 1;
    for (at, &byte) in packed.iter().enumerate() {
        let here = (pixels - at * (8 / bits)).min(8 / bits);
        for i in 0..here {
            let index = usize::from(byte >> (i * bits) & mask);
            image.push(*palette.get(index).ok_or(Reason::Malformed)?);
        }
    }
    Ok(image)
}

fn bits(colours: usize) -> usize {
    match colours {
        0..=2 => 1,
        3..=4 => 2,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn back(image: &[f32]) -> (usize, Vec<f32>) {
        let mut bytes = vec![];
        write(image, &mut bytes);
        let mut reader = Reader::new(&bytes);
        let read = read(&mut reader, image.len()).unwrap();
        reader.end().unwrap();
        (bytes.len(), read)
    }

    #[test]
    fn two_values_take_a_bit_each() {
        let image: Vec<f32> = (0..441).map(|i| f32::from(u8::from(i % 7 == 0))).collect();
        assert_eq!(back(&image), (4 + 1 + 8 + 56, image));
        assert_eq!(back(&[]).1, [0.0f32; 0]);
    }

    #[test]
    fn wrong_sizes_and_colours_are_refused() {
        let mut bytes = vec![];
        write(&[0.0, 1.0, 0.5], &mut bytes);
        assert_eq!(read(&mut Reader::new(&bytes), 4), Err(Reason::Malformed));
        for at in 0..bytes.len() {
            assert_eq!(read(&mut Reader::new(&bytes[..at]), 3), Err(Reason::Malformed));
        }
        *bytes.last_mut().unwrap() = 0xff; // colour 3 of 3
        assert_eq!(read(&mut Reader::new(&bytes), 3), Err(Reason::Malformed));
    }

    proptest! {
        #[test]
        fn pictures_come_back_bit_for_bit(
            colours in 1usize..30,
            indices in proptest::collection::vec(0usize..30, 0..100),
        ) {
            let image: Vec<f32> = indices.iter().map(|i| (i % colours) as f32 / 7.0).collect();
            prop_assert_eq!(back(&image).1, image);
        }

        #[test]
        fn any_bytes_are_read_without_harm(
            bytes in proptest::collection::vec(any::<u8>(), 0..100),
            pixels in 0usize..300,
        ) {
            let _ = read(&mut Reader::new(&bytes), pixels);
        }
    }
}
