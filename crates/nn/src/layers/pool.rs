//! Pooling: max over space keeps group channels, max over the group leaves what no turn changes.

use crate::error::{Error, Result};
use burn::tensor::Tensor;
use equimarl_group::Rep;

/// f\[c\] = max over pixels p of x\[c\]\[p\]. Turning a picture moves its pixels, which the maximum does not see, so group
/// channels are permuted and nothing else happens.
pub fn max_over_space(x: Tensor<4>) -> Tensor<2> {
    let [n, channels, height, width] = x.dims();
    x.reshape([n, channels, height * width]).max_dim(2).reshape([n, channels])
}

/// f\[c\] = max over h of x\[c |G| + h\]: one invariant number per copy of a permutation representation.
///
/// # Errors
/// If `rep` is not a multiple of one permutation representation.
pub fn max_over_group(x: Tensor<2>, rep: &Rep) -> Result<Tensor<2>> {
    let [rows, width] = x.dims();
    match rep.terms() {
        [term] if term.atom.is_permutation() && width == rep.dim() => {
            Ok(x.reshape([rows, term.count, term.atom.dim()]).max_dim(2).reshape([rows, term.count]))
        }
        _ => Err(Error::BadNetwork(format!(
            "pooling over the group needs copies of one permutation representation, and rows of that size; \
             `{rep}` has {} dimensions, the rows {width}",
            rep.dim()
        ))),
    }
}
