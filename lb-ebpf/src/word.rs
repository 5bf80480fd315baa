//! Bytes of a packet as words of this host, in one instruction each.
//!
//! Headers have alignment 1, for which the compiler reads and writes byte by byte. The verifier
//! lets a program do better with packets wherever the processor can.

#[cfg(target_arch = "bpf")]
use core::arch::asm;
#[cfg(not(target_arch = "bpf"))]
use core::ptr;

use crate::header::Header;

macro_rules! words {
    ($($read:ident, $write:ident: $ty:ident, $size:literal, $load:literal, $store:literal;)+) => { $(
        #[doc = concat!("The ", $size, " bytes of a header that begin at byte `AT`, as they stand in memory.")]
        #[inline(always)]
        pub fn $read<const AT: usize, T: Header>(header: &T) -> $ty {
            const { assert!(AT + $size <= size_of::<T>()) }
            #[cfg(not(target_arch = "bpf"))]
            let word = {
                let bytes = ptr::from_ref(header).cast::<[u8; $size]>();
                // SAFETY: they are inside the header, which has alignment 1 and no padding.
                $ty::from_ne_bytes(unsafe { *bytes.byte_add(AT) })
            };
            #[cfg(target_arch = "bpf")]
            let word = {
                let word: u32;
                // SAFETY: the instruction reads the bytes, of whatever alignment, and nothing else.
                unsafe {
                    asm!(
                        $load,
                        word = lateout(wreg) word,
                        header = in(reg) header,
                        at = const AT,
                        options(pure, readonly, nostack, preserves_flags)
                    );
                    // SAFETY: it fills the rest of the register with zeros.
                    core::hint::assert_unchecked(word <= $ty::MAX as u32);
                }
                word as $ty
            };
            word
        }

        #[doc = concat!("Puts a word into the ", $size, " bytes of a header that begin at byte `AT`.")]
        #[inline(always)]
        pub fn $write<const AT: usize, T: Header>(header: &mut T, word: $ty) {
            const { assert!(AT + $size <= size_of::<T>()) }
            #[cfg(not(target_arch = "bpf"))]
            {
                let bytes = ptr::from_mut(header).cast::<[u8; $size]>();
                // SAFETY: as for reading them.
                unsafe { *bytes.byte_add(AT) = word.to_ne_bytes() }
            }
            #[cfg(target_arch = "bpf")]
            // SAFETY: the instruction writes the bytes, of whatever alignment, and nothing else.
            unsafe {
                asm!(
                    $store,
                    word = in(wreg) u32::from(word),
                    header = in(reg) header,
                    at = const AT,
                    options(nostack, preserves_flags)
                );
            }
        }
    )+ };
}

words! {
    u16, put_u16: u16, 2, "{word} = *(u16 *)({header} + {at})", "*(u16 *)({header} + {at}) = {word}";
    u32, put_u32: u32, 4, "{word} = *(u32 *)({header} + {at})", "*(u32 *)({header} + {at}) = {word}";
}

/// Four words of a header that begin at byte `AT`, such as an IPv6 address.
#[inline(always)]
pub fn quads<const AT: usize, T: Header>(header: &T) -> [u32; 4] {
    const { assert!(AT + 16 <= size_of::<T>()) }
    #[cfg(not(target_arch = "bpf"))]
    {
        let words = ptr::from_ref(header).cast::<[[u8; 4]; 4]>();
        // SAFETY: as for one word.
        unsafe { *words.byte_add(AT) }.map(u32::from_ne_bytes)
    }
    #[cfg(target_arch = "bpf")]
    {
        let (a, b, c, d);
        // SAFETY: as for one word.
        unsafe {
            asm!(
                "{a} = *(u32 *)({header} + {a_at})",
                "{b} = *(u32 *)({header} + {b_at})",
                "{c} = *(u32 *)({header} + {c_at})",
                "{d} = *(u32 *)({header} + {d_at})",
                a = out(wreg) a,
                b = out(wreg) b,
                c = out(wreg) c,
                d = lateout(wreg) d,
                header = in(reg) header,
                a_at = const AT,
                b_at = const AT + 4,
                c_at = const AT + 8,
                d_at = const AT + 12,
                options(pure, readonly, nostack, preserves_flags)
            );
        }
        [a, b, c, d]
    }
}

/// Puts words into a header, from byte `AT` on.
#[inline(always)]
pub fn put_words<const AT: usize, const N: usize, T: Header>(header: &mut T, words: &[u32; N]) {
    const { assert!(AT + 4 * N <= size_of::<T>()) }
    #[cfg(not(target_arch = "bpf"))]
    {
        let bytes = ptr::from_mut(header).cast::<[[u8; 4]; N]>();
        // SAFETY: as for one word.
        unsafe { *bytes.byte_add(AT) = words.map(u32::to_ne_bytes) }
    }
    #[cfg(target_arch = "bpf")]
    {
        let place = core::ptr::from_mut(header).cast::<u8>().wrapping_add(AT);
        for (i, word) in words.iter().enumerate() {
            // SAFETY: as for one word.
            unsafe {
                asm!(
                    "*(u32 *)({place} + 0) = {word}",
                    word = in(wreg) *word,
                    place = in(reg) place.wrapping_add(4 * i),
                    options(nostack, preserves_flags)
                );
            }
        }
    }
}

/// A field of a header as a word: `load!(Ipv4Hdr, ip.src_addr as u32)`.
#[macro_export]
macro_rules! load {
    ($ty:ty, $header:ident.$($field:ident).+ as $kind:ident) => {
        $crate::word::$kind::<{ ::core::mem::offset_of!($ty, $($field).+) }, $ty>($header)
    };
}

/// Puts a word into a field of a header: `store!(Ipv4Hdr, ip.src_addr as put_u32, word)`.
#[macro_export]
macro_rules! store {
    ($ty:ty, $header:ident.$($field:ident).+ as $kind:ident, $word:expr) => {
        $crate::word::$kind::<{ ::core::mem::offset_of!($ty, $($field).+) }, $ty>($header, $word)
    };
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
            asm!(
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

/// The same value, of which the verifier knows no bounds afterwards. A sum has other bounds after each
/// turn of a loop, and whatever follows would be verified anew for each.
#[inline(always)]
pub fn unbounded(value: u64) -> u64 {
    #[cfg(target_arch = "bpf")]
    {
        let mut register = value;
        // SAFETY: it changes nothing, since the program is built for little-endian hosts.
        unsafe {
            asm!(
                "{register} = le64 {register}",
                register = inout(reg) register,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        register
    }
    #[cfg(not(target_arch = "bpf"))]
    value
}

/// The bits of a value that are set in `MASK`, of which the verifier knows the bound then. The compiler leaves
/// out a mask that it takes for needless.
#[inline(always)]
pub fn masked<const MASK: u16>(value: u64) -> usize {
    #[cfg(target_arch = "bpf")]
    {
        let mut register = value;
        // SAFETY: it changes nothing but the register.
        unsafe {
            asm!(
                "{register} &= {mask}",
                register = inout(reg) register,
                mask = const MASK,
                options(pure, nomem, nostack, preserves_flags)
            );
            // SAFETY: no bit of another is left.
            core::hint::assert_unchecked(register <= MASK as u64);
        }
        register as usize
    }
    #[cfg(not(target_arch = "bpf"))]
    {
        (value & u64::from(MASK)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Odd {
        first: u8,
        four: [u8; 4],
        two: [u8; 2],
        sixteen: [u8; 16],
    }

    // SAFETY: its fields are bytes and arrays of bytes, in `repr(C)`.
    unsafe impl Header for Odd {}

    #[test]
    fn words_are_bytes_in_memory_wherever_they_stand() {
        let mut odd = Odd {
            first: 1,
            four: [2, 3, 4, 5],
            two: [6, 7],
            sixteen: core::array::from_fn(|i| i as u8),
        };
        let header = &mut odd;
        assert_eq!(load!(Odd, header.four as u32).to_ne_bytes(), [2, 3, 4, 5]);
        assert_eq!(load!(Odd, header.two as u16).to_ne_bytes(), [6, 7]);
        let quads = load!(Odd, header.sixteen as quads);
        assert_eq!(quads.map(u32::to_ne_bytes).as_flattened(), header.sixteen);
        store!(
            Odd,
            header.four as put_u32,
            u32::from_ne_bytes([9, 8, 7, 6])
        );
        store!(Odd, header.two as put_u16, u16::from_ne_bytes([5, 4]));
        assert_eq!((odd.first, odd.four, odd.two), (1, [9, 8, 7, 6], [5, 4]));
    }
}
