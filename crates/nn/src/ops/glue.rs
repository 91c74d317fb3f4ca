//! Our kernels as differentiable Burn operations.
//!
//! y = f(x_1, ..., x_N) for a function f on plain slices that brings its own backward pass. Burn sees one node per
//! call; what the function saves for its backward pass stays plain memory.

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::{Autodiff, Dispatch, Flex, TensorMetadata, backend_extension, tensor::FloatTensor};
use burn::tensor::{Tensor, TensorData};
use burn_flex::FlexTensor;
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

/// What a forward pass keeps for its backward pass.
pub type Saved = Arc<dyn Any + Send + Sync>;

/// A function of N slices with a hand-written backward pass.
pub trait Function<const N: usize>: Debug + Send + Sync + 'static {
    /// The shape of the output.
    fn shape(&self) -> [usize; 2];
    /// The output, row-major, and what the backward pass needs. Sizes were checked when the function was built.
    fn forward(&self, inputs: [&[f32]; N]) -> (Vec<f32>, Saved);
    /// The gradients of the inputs, given that of the output.
    fn backward(&self, inputs: [&[f32]; N], saved: &Saved, output: &[f32]) -> [Vec<f32>; N];
}

type Shared<const N: usize> = Arc<dyn Function<N>>;

/// One entry point per number of inputs, because Burn's nodes are typed by it.
#[backend_extension(Flex, Autodiff)]
trait Functions: burn::backend::Backend {
    fn call1(a: FloatTensor<Self>, f: Arc<dyn Function<1>>) -> FloatTensor<Self>;
    fn call3(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        c: FloatTensor<Self>,
        f: Arc<dyn Function<3>>,
    ) -> FloatTensor<Self>;
    fn call4(
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        c: FloatTensor<Self>,
        d: FloatTensor<Self>,
        f: Arc<dyn Function<4>>,
    ) -> FloatTensor<Self>;
}

/// Contiguous f32 memory. Burn-flex tensors of ours are always f32 and were just made contiguous.
fn floats(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice::<f32>().expect("contiguous f32 tensors")
}

fn tensor(values: Vec<f32>, shape: &[usize]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape.to_vec()))
}

fn run<const N: usize>(f: &Shared<N>, inputs: &[FlexTensor; N]) -> (FlexTensor, Saved) {
    let (output, saved) = f.forward(inputs.each_ref().map(floats));
    (tensor(output, &f.shape()), saved)
}

#[derive(Debug)]
struct Back;

impl<const N: usize> Backward<Flex, N> for Back {
    type State = (Shared<N>, [FlexTensor; N], Saved);

    fn backward(self, ops: Ops<Self::State, N>, grads: &mut Gradients, _checkpointer: &mut Checkpointer) {
        let output = grads.consume::<Flex>(&ops.node).to_contiguous();
        let (f, inputs, saved) = ops.state;
        let found = f.backward(inputs.each_ref().map(floats), &saved, floats(&output));
        for ((parent, gradient), input) in ops.parents.into_iter().zip(found).zip(&inputs) {
            if let Some(parent) = parent {
                grads.register::<Flex>(parent.id, tensor(gradient, &input.shape().to_vec()));
            }
        }
    }
}

fn tracked<const N: usize, C: CheckpointStrategy>(
    inputs: [FloatTensor<Autodiff<Flex, C>>; N],
    f: Shared<N>,
) -> FloatTensor<Autodiff<Flex, C>> {
    let nodes = inputs.each_ref().map(|t| t.node());
    let inputs = inputs.each_ref().map(|t| t.primitive().to_contiguous());
    let (output, saved) = run(&f, &inputs);
    match Backward::<Flex, N>::prepare::<C>(Back, nodes).compute_bound().stateful() {
        OpsKind::Tracked(prepared) => prepared.finish((f, inputs, saved), output),
        OpsKind::UnTracked(prepared) => prepared.finish(output),
    }
}

macro_rules! functions {
    ($($call:ident $n:literal ($($x:ident),*);)*) => {
        impl Functions for Flex {
            $(fn $call($($x: FlexTensor,)* f: Shared<$n>) -> FlexTensor {
                run(&f, &[$($x.to_contiguous()),*]).0
            })*
        }

        impl<S: CheckpointStrategy> Functions for Autodiff<Flex, S> {
            $(fn $call($($x: FloatTensor<Self>,)* f: Shared<$n>) -> FloatTensor<Self> {
                tracked::<$n, S>([$($x),*], f)
            })*
        }
    };
}

functions! {
    call1 1 (a);
    call3 3 (a, b, c);
    call4 4 (a, b, c, d);
}

/// y = f(x).
pub(crate) fn apply1<const D: usize>(f: impl Function<1>, x: Tensor<D>) -> Tensor<2> {
    Tensor::from_dispatch(Dispatch::call1(x.into_dispatch(), Arc::new(f)))
}

/// y = f(x, w, b).
pub(crate) fn apply3(f: impl Function<3>, x: Tensor<2>, w: Tensor<2>, b: Tensor<2>) -> Tensor<2> {
    let (x, w, b) = (x.into_dispatch(), w.into_dispatch(), b.into_dispatch());
    Tensor::from_dispatch(Dispatch::call3(x, w, b, Arc::new(f)))
}

/// y = f(w1, b1, w2, b2).
pub(crate) fn apply4(f: impl Function<4>, inputs: [Tensor<2>; 4]) -> Tensor<2> {
    let [a, b, c, d] = inputs.map(Tensor::into_dispatch);
    Tensor::from_dispatch(Dispatch::call4(a, b, c, d, Arc::new(f)))
}
