use num_rational::BigRational;

/// A part of the traffic as an exact fraction: nested groups multiply, and ten levels of fifty
/// members overflow 128 bits.
pub type Share = BigRational;
