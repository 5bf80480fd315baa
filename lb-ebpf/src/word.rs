//! Bytes of a packet as words of this host, in one instruction each.
//!
//! Headers have alignment 1, for which the compiler reads and writes byte by byte. The verifier
//! lets a program do better with packets wherever the processor can.

macro_rules! words {
    ($($read:ident, $write:ident: $ty:ident, $size:literal, $load:literal, $store:literal;)+) => { $(
        #[doc = concat!($size, " bytes as they stand in memory.")]
        #[inline(always)]
        pub fn $read(bytes: &[u8; $size]) -> $ty {
            #[cfg(not(target_arch = "bpf"))]
            let word = $ty::from_ne_bytes(*bytes);
            #[cfg(target_arch = "bpf")]
            let word = {
                let word: u64;
                // SAFETY: the instruction reads the bytes, of whatever alignment, and nothing else.
                unsafe {
                    core::arch::asm!(
                        $load,
                        word = lateout(reg) word,
                        bytes = in(reg) bytes,
                        options(pure, readonly, nostack, preserves_flags)
                    );
                    // SAFETY: it fills the rest of the register with zeros.
                    core::hint::assert_unchecked(word <= $ty::MAX as u64);
                }
                word as $ty
            };
            word
        }

        #[doc = concat!("Puts ", $size, " bytes as they stand in memory.")]
        #[inline(always)]
        pub fn $write(bytes: &mut [u8; $size], word: $ty) {
            #[cfg(not(target_arch = "bpf"))]
            {
                *bytes = word.to_ne_bytes();
            }
            #[cfg(target_arch = "bpf")]
            // SAFETY: the instruction writes the bytes, of whatever alignment, and nothing else.
            unsafe {
                core::arch::asm!(
                    $store,
                    word = in(reg) word as u64,
                    bytes = in(reg) bytes,
                    options(nostack, preserves_flags)
                );
            }
        }
    )+ };
}

words! {
    u16, put_u16: u16, 2, "{word} = *(u16 *)({bytes} + 0)", "*(u16 *)({bytes} + 0) = {word}";
    u32, put_u32: u32, 4, "{word} = *(u32 *)({bytes} + 0)", "*(u32 *)({bytes} + 0) = {word}";
}

/// Four bytes at a time.
#[inline(always)]
pub fn quads(bytes: &[u8; 16]) -> [u32; 4] {
    let [a, b, c, d]: &[[u8; 4]; 4] = zerocopy::transmute_ref!(bytes);
    [u32(a), u32(b), u32(c), u32(d)]
}

/// The same value, worked out here. The compiler would put the work off to where the value is used,
/// and keep all that it is made of until then.
#[inline(always)]
pub fn settle(value: u32) -> u32 {
    #[cfg(target_arch = "bpf")]
    {
        let mut register = u64::from(value);
        // SAFETY: it changes nothing. (Without an instruction, its line would be refused.)
        unsafe {
            core::arch::asm!(
                "{register} += 0",
                register = inout(reg) register,
                options(nomem, nostack, preserves_flags)
            );
            // SAFETY: what went in comes out.
            core::hint::assert_unchecked(register <= u32::MAX as u64);
        }
        register as u32
    }
    #[cfg(not(target_arch = "bpf"))]
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_bytes_in_memory_wherever_they_stand() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7];
        let (_, tail) = bytes.split_first_chunk_mut::<1>().unwrap();
        let (first, last) = tail.split_first_chunk_mut().unwrap();
        assert_eq!(u32(first), u32::from_ne_bytes([2, 3, 4, 5]));
        put_u32(first, u32::from_ne_bytes([9, 8, 7, 6]));
        let last: &mut [u8; 2] = last.try_into().unwrap();
        assert_eq!(u16(last), u16::from_ne_bytes([6, 7]));
        put_u16(last, u16::from_ne_bytes([5, 4]));
        assert_eq!(bytes, [1, 9, 8, 7, 6, 5, 4]);
    }

    #[test]
    fn quads_are_the_words_of_sixteen_bytes() {
        let bytes: [u8; 16] = core::array::from_fn(|i| i as u8);
        assert_eq!(quads(&bytes).map(u32::to_ne_bytes).as_flattened(), bytes);
    }
}
