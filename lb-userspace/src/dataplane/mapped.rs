#![allow(
    unsafe_code,
    reason = "the one place where BPF map memory is read and written directly"
)]

use std::{
    io,
    marker::PhantomData,
    mem::MaybeUninit,
    ops::Range,
    os::fd::{AsFd as _, AsRawFd as _},
    slice,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use aya::{
    Pod,
    maps::{MapData, MapType},
};
use memmap2::{MmapOptions, MmapRaw};

/// BPF_F_MMAPABLE of `enum` in linux/bpf.h.
const MMAPABLE: u32 = 1 << 10;

/// The memory of an array map, shared with the kernel: it is read and written in whole 64-bit words,
/// so every word is seen either old or new.
pub struct Mapped<T> {
    memory: Arc<MmapRaw>,
    /// Bytes in front of the first element.
    start: usize,
    len: u32,
    element: PhantomData<T>,
}

impl<T: Pod> Mapped<T> {
    const WORDS: usize = {
        assert!(size_of::<T>().is_multiple_of(8) && align_of::<T>() == 8);
        size_of::<T>() / 8
    };

    /// Maps an array map whose elements are `T` and that was made to be mapped.
    ///
    /// # Errors
    /// If it is another map, or the kernel does not map it.
    pub fn new(map: &MapData) -> io::Result<Self> {
        Self::of_elements(map, size_of::<T>())
    }

    /// Maps an array map whose elements have this size, as one long array of `T`.
    pub(super) fn of_elements(map: &MapData, size: usize) -> io::Result<Self> {
        let found = map.info().map_err(io::Error::other)?.value_size() as usize;
        if found != size {
            return Err(no_array_of(size));
        }
        Self::flat(map)
    }

    /// Maps an array map whose elements are arrays of `T`, or `T` itself, as one long array.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn flat(map: &MapData) -> io::Result<Self> {
        let info = map.info().map_err(io::Error::other)?;
        let array = matches!(info.map_type(), Ok(MapType::Array));
        let size = info.value_size() as usize;
        let whole = size.is_multiple_of(size_of::<T>());
        if !array || !whole || info.map_flags() & MMAPABLE == 0 {
            return Err(no_array_of(size_of::<T>()));
        }
        let size = size * info.max_entries() as usize;
        let memory = MmapOptions::new()
            .len(size)
            .map_raw(map.fd().as_fd().as_raw_fd())?;
        Ok(Self {
            memory: Arc::new(memory),
            start: 0,
            len: u32::try_from(size / size_of::<T>()).map_err(io::Error::other)?,
            element: PhantomData,
        })
    }

    /// `len` elements of another type, from this byte on.
    ///
    /// # Panics
    /// If they are not aligned, or not all there.
    pub(super) fn part<U: Pod>(&self, start: usize, len: usize) -> Mapped<U> {
        let end = start + size_of::<U>() * len;
        assert!(start.is_multiple_of(8) && end <= self.len as usize * size_of::<T>());
        Mapped {
            memory: Arc::clone(&self.memory),
            start: self.start + start,
            len: u32::try_from(len).expect("a map is smaller than 4 GiB"),
            element: PhantomData,
        }
    }

    /// Number of elements.
    #[expect(clippy::len_without_is_empty, reason = "no map is empty")]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// The element at `index`, which must be below [`Self::len`].
    pub fn load(&self, index: u32) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        let words = value.as_mut_ptr().cast::<u64>();
        for (i, word) in self.element(index).iter().enumerate() {
            // SAFETY: a `T` is aligned to and made of as many words as the element has.
            unsafe { words.add(i).write(word.load(Ordering::Acquire)) }
        }
        // SAFETY: all words were written, and any bytes are a `T`, which is `Pod`.
        unsafe { value.assume_init() }
    }

    /// Writes the element at `index`, which must be below [`Self::len`], word by word from its
    /// beginning. Whoever sees a word also sees everything stored before it.
    pub fn store(&self, index: u32, value: &T) {
        let words = std::ptr::from_ref(value).cast::<u64>();
        for (i, word) in self.element(index).iter().enumerate() {
            // SAFETY: as in `load`; a `Pod` type has no padding, so every word is initialised.
            word.store(unsafe { words.add(i).read() }, Ordering::Release);
        }
    }

    /// Writes the word `word` of the element at `index`, both in range.
    pub(super) fn store_word(&self, index: u32, word: usize, value: u64) {
        self.element(index)[word].store(value, Ordering::Release);
    }

    fn element(&self, index: u32) -> &[AtomicU64] {
        self.words(index..index + 1)
    }

    /// The words of these elements, which must be below [`Self::len`].
    pub(super) fn words(&self, elements: Range<u32>) -> &[AtomicU64] {
        let in_range = elements.start <= elements.end && elements.end <= self.len;
        assert!(in_range, "the map has {} elements", self.len);
        let first = self.start / 8 + elements.start as usize * Self::WORDS;
        let memory = self.memory.as_mut_ptr().cast::<AtomicU64>();
        let words = elements.len() * Self::WORDS;
        // SAFETY: the mapping begins at a page, holds `len` elements of `WORDS` words behind `start`, which
        // is aligned, lives as long as `self`, and is only ever accessed by whole words.
        unsafe { slice::from_raw_parts(memory.add(first), words) }
    }
}

fn no_array_of(size: usize) -> io::Error {
    let what = format!("no mmapable array of {size}-byte elements");
    io::Error::new(io::ErrorKind::InvalidInput, what)
}
