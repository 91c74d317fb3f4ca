//! Equivariant layers and networks.
