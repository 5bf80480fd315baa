/// Proves the layout of types that cross the kernel border, and makes them usable as map values.
macro_rules! abi {
    ($($ty:ty = $size:literal align $align:literal),+ $(,)?) => { $(
        const _: () = {
            assert!(size_of::<$ty>() == $size);
            assert!(align_of::<$ty>() == $align);
            const fn plain<T: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable>() {}
            plain::<$ty>();
        };
        // SAFETY: checked above: no padding, and every bit pattern is a value.
        #[cfg(not(target_arch = "bpf"))]
        unsafe impl aya::Pod for $ty {}
    )+ };
}

pub(crate) use abi;
