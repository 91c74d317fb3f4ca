//! Sizes of an encoder, and everything that follows from them alone.

use crate::error::{Error, Result, positive, product};

/// One convolution: a square filter without padding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Convolution {
    /// Output channels.
    pub channels: usize,
    /// Side of the filter.
    pub kernel: usize,
    /// Step of the filter in both directions.
    pub stride: usize,
}

/// Sizes of an encoder: the picture and its two convolutions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Channels of a picture.
    pub channels: usize,
    /// Rows of a picture.
    pub height: usize,
    /// Columns of a picture.
    pub width: usize,
    /// The first convolution, on the picture.
    pub first: Convolution,
    /// The second convolution, on the first one's output.
    pub second: Convolution,
}

/// A convolution as lists of offsets: output pixel p at tap d reads input element `pixels[p] + at(d)`, where at(d) walks
/// through `runs` of equal length `run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Window {
    /// Start of each output pixel's window.
    pub(super) pixels: Vec<usize>,
    /// Start of each run in a window.
    pub(super) runs: Vec<usize>,
    /// Length of a run.
    pub(super) run: usize,
    /// Rows and columns of the output.
    pub(super) output: (usize, usize),
}

impl Window {
    /// Over pictures with one plane per channel; taps in the order channel, row, column.
    fn planar(
        layer: &'static str,
        (channels, height, width): (usize, usize, usize),
        conv: Convolution,
    ) -> Result<Self> {
        let output = output(layer, (height, width), conv)?;
        Ok(Self {
            pixels: starts(output, conv.stride, width, 1),
            runs: (0..channels * conv.kernel)
                .map(|i| (i / conv.kernel * height + i % conv.kernel) * width)
                .collect(),
            run: conv.kernel,
            output,
        })
    }

    /// Over pictures with the channels of a pixel side by side; taps in the order row, column, channel.
    fn interleaved(
        layer: &'static str,
        (channels, height, width): (usize, usize, usize),
        conv: Convolution,
    ) -> Result<Self> {
        let output = output(layer, (height, width), conv)?;
        Ok(Self {
            pixels: starts(output, conv.stride, width, channels),
            runs: (0..conv.kernel).map(|i| i * width * channels).collect(),
            run: conv.kernel * channels,
            output,
        })
    }

    /// Output pixels.
    pub(super) fn len(&self) -> usize {
        self.pixels.len()
    }

    /// Taps of a window.
    pub(super) fn depth(&self) -> usize {
        self.runs.len() * self.run
    }

    /// Where each tap reads, relative to the pixel.
    pub(super) fn taps(&self) -> Vec<usize> {
        let inside = |&start: &usize| (0..self.run).map(move |i| start + i);
        self.runs.iter().flat_map(inside).collect()
    }
}

fn output(layer: &'static str, (height, width): (usize, usize), conv: Convolution) -> Result<(usize, usize)> {
    if conv.kernel > height || conv.kernel > width {
        return Err(Error::Kernel { layer, kernel: conv.kernel, height, width });
    }
    let along = |size: usize| (size - conv.kernel) / conv.stride + 1;
    Ok((along(height), along(width)))
}

fn starts(output: (usize, usize), stride: usize, width: usize, channels: usize) -> Vec<usize> {
    (0..output.0 * output.1)
        .map(|p| (p / output.1 * stride * width + p % output.1 * stride) * channels)
        .collect()
}

/// A checked [`Config`] with its windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) config: Config,
    pub(super) first: Window,
    pub(super) second: Window,
}

impl Shape {
    pub(super) fn new(config: Config) -> Result<Self> {
        let (first, second) = (config.first, config.second);
        for (name, size) in [
            ("the picture's number of channels", config.channels),
            ("the picture's height", config.height),
            ("the picture's width", config.width),
            ("the first convolution's number of channels", first.channels),
            ("the first convolution's filter", first.kernel),
            ("the first convolution's stride", first.stride),
            ("the second convolution's number of channels", second.channels),
            ("the second convolution's filter", second.kernel),
            ("the second convolution's stride", second.stride),
        ] {
            positive(name, size)?;
        }
        let size = (config.channels, config.height, config.width);
        product("a picture", &[size.0, size.1, size.2])?;
        let (rows, columns) = output("first", (size.1, size.2), first)?;
        product("the first convolution's output", &[rows, columns, first.channels])?;
        let middle = (first.channels, rows, columns);
        let (rows, columns) = output("second", (rows, columns), second)?;
        product("the second convolution's output", &[rows, columns, second.channels])?;
        let filter = |name, conv: Convolution, inputs| {
            product(name, &[conv.channels, inputs, conv.kernel, conv.kernel])
        };
        filter("the first convolution's weight", first, config.channels)?;
        filter("the second convolution's weight", second, first.channels)?;
        Ok(Self {
            config,
            first: Window::planar("first", size, first)?,
            second: Window::interleaved("second", middle, second)?,
        })
    }

    /// Elements of a picture.
    pub(super) fn picture(&self) -> usize {
        self.config.channels * self.config.height * self.config.width
    }

    /// Elements of the first convolution's output.
    pub(super) fn hidden(&self) -> usize {
        self.first.len() * self.config.first.channels
    }

    /// Where tap (row, column, channel) of the second filter sits in a weight row ordered channel, row, column.
    pub(super) fn second_tap(&self, tap: usize) -> usize {
        let channels = self.config.first.channels;
        let area = self.config.second.kernel.pow(2);
        tap % channels * area + tap / channels
    }
}
