#![allow(
    unsafe_code,
    reason = "the one place where BPF map memory is read and written directly"
)]

use std::{
    io,
    marker::PhantomData,
    mem::MaybeUninit,
    os::fd::{AsFd as _, AsRawFd as _},
    sync::atomic::{Ordering, fence},
};

use aya::{
    Pod,
    maps::{MapData, MapType},
};
use memmap2::{MmapOptions, MmapRaw};

/// BPF_F_MMAPABLE of `enum` in linux/bpf.h.
const MMAPABLE: u32 = 1 << 10;

/// The memory of an array map, shared with the kernel: each access is one or more whole 64-bit words,
/// so another CPU sees every word either old or new.
pub(super) struct Mapped<T> {
    memory: MmapRaw,
    len: u32,
    element: PhantomData<T>,
}

impl<T: Pod> Mapped<T> {
    const WORDS: usize = {
        assert!(size_of::<T>().is_multiple_of(8) && align_of::<T>() == 8);
        size_of::<T>() / 8
    };

    /// Maps an array map whose elements are `T` and that was made to be mapped.
    pub(super) fn new(map: &MapData) -> io::Result<Self> {
        let info = map.info().map_err(io::Error::other)?;
        let array = matches!(info.map_type(), Ok(MapType::Array));
        let size = info.value_size() as usize;
        if !array || size != size_of::<T>() || info.map_flags() & MMAPABLE == 0 {
            let what = format!("no mmapable array of {}-byte elements", size_of::<T>());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        }
        let memory = MmapOptions::new()
            .len(size * info.max_entries() as usize)
            .map_raw(map.fd().as_fd().as_raw_fd())?;
        Ok(Self {
            memory,
            len: info.max_entries(),
            element: PhantomData,
        })
    }

    /// Number of elements.
    pub(super) fn len(&self) -> u32 {
        self.len
    }

    /// The element at `index`, which must be below [`Self::len`].
    pub(super) fn load(&self, index: u32) -> T {
        let first = self.element(index);
        let mut value = MaybeUninit::<T>::uninit();
        for i in 0..Self::WORDS {
            // SAFETY: `first` begins a whole element inside the mapping, and both it and `value` are
            // aligned to and made of `WORDS` words.
            unsafe {
                let word = first.add(i).read_volatile();
                value.as_mut_ptr().cast::<u64>().add(i).write(word);
            }
        }
        // SAFETY: all words were written, and any bytes are a `T`, which is `Pod`.
        unsafe { value.assume_init() }
    }

    /// Writes the element at `index`, which must be below [`Self::len`]. Whoever sees it also sees
    /// what was stored before.
    pub(super) fn store(&mut self, index: u32, value: &T) {
        let first = self.element(index);
        let words = std::ptr::from_ref(value).cast::<u64>();
        fence(Ordering::Release);
        for i in 0..Self::WORDS {
            // SAFETY: as in `load`; a `Pod` type has no padding, so every word of `value` is
            // initialised.
            unsafe { first.add(i).write_volatile(words.add(i).read()) }
        }
    }

    /// Writes the word `word` of the element at `index`, both in range.
    pub(super) fn store_word(&mut self, index: u32, word: usize, value: u64) {
        let first = self.element(index);
        assert!(word < Self::WORDS, "an element has {} words", Self::WORDS);
        // SAFETY: the word is inside the element, which is inside the mapping.
        unsafe { first.add(word).write_volatile(value) }
    }

    fn element(&self, index: u32) -> *mut u64 {
        assert!(index < self.len, "the map has {} elements", self.len);
        // SAFETY: the mapping holds `len` elements, and begins at a page.
        unsafe {
            let memory = self.memory.as_mut_ptr().cast::<u64>();
            memory.add(index as usize * Self::WORDS)
        }
    }
}
