//! Bounds-checked access to the bytes of a packet.

use core::marker::PhantomData;

use crate::header::Header;

/// Walks over a packet from its first byte to its last; it never goes back.
pub struct Cursor<'p> {
    position: *mut u8,
    end: *mut u8,
    packet: PhantomData<&'p mut [u8]>,
}

impl<'p> Cursor<'p> {
    /// A cursor at the first byte of the packet `start..end`.
    ///
    /// # Safety
    /// `start..end` can be read and written for `'p`, and nothing else refers to it.
    #[inline(always)]
    pub unsafe fn new(start: *mut u8, end: *mut u8) -> Self {
        Self {
            position: start,
            end,
            packet: PhantomData,
        }
    }

    /// The header here, or `None` if the packet ends before the header does.
    #[inline(always)]
    pub fn take<T: Header>(&mut self) -> Option<&'p mut T> {
        let start = self.position;
        self.skip(
            const {
                assert!(size_of::<T>() <= u16::MAX as usize);
                size_of::<T>() as u16
            },
        )?;
        // SAFETY: in bounds; a header has alignment 1 and accepts any bytes; and since the cursor
        // never goes back, nothing else refers to them.
        Some(unsafe { &mut *start.cast() })
    }

    /// Leaves out some bytes; `None` if there are not so many.
    ///
    /// A packet's length has 16 bits, and so few bytes behind a packet the address space does not
    /// end: the sum would wrap around, and the cursor go back.
    #[inline(always)]
    pub fn skip(&mut self, bytes: u16) -> Option<()> {
        let next = self.position.wrapping_add(bytes.into());
        if next > self.end {
            return None;
        }
        self.position = next;
        Some(())
    }

    /// Number of bytes from here to the end.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.end.addr() - self.position.addr()
    }
}

impl<'p> From<&'p mut [u8]> for Cursor<'p> {
    fn from(packet: &'p mut [u8]) -> Self {
        let range = packet.as_mut_ptr_range();
        // SAFETY: the packet is borrowed for `'p`.
        unsafe { Self::new(range.start, range.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::Ethernet;

    #[test]
    fn a_header_that_does_not_fit_is_not_taken_and_moves_nothing() {
        let mut packet = [7; 13];
        let mut cursor = Cursor::from(&mut packet[..]);
        assert!(cursor.take::<Ethernet>().is_none());
        assert_eq!(cursor.remaining(), 13);
        assert_eq!(cursor.skip(14), None);
        assert_eq!(cursor.skip(13), Some(()));
        assert_eq!(cursor.remaining(), 0);
    }

    #[test]
    fn no_skip_leads_out_of_the_packet_or_back() {
        for bytes in 0..=u16::MAX {
            let mut packet = [7; 13];
            let mut cursor = Cursor::from(&mut packet[..]);
            assert_eq!(cursor.skip(5), Some(()));
            let left = 8_usize.checked_sub(bytes.into());
            assert_eq!(cursor.skip(bytes), left.map(|_| ()), "{bytes}");
            assert_eq!(cursor.remaining(), left.unwrap_or(8), "{bytes}");
        }
    }

    #[test]
    fn what_is_written_through_a_header_stands_in_the_packet() {
        let mut packet = [0; 15];
        let mut cursor = Cursor::from(&mut packet[..]);
        assert_eq!(cursor.skip(1), Some(()));
        let ethernet = cursor.take::<Ethernet>().unwrap();
        ethernet.ether_type = [0x08, 0x06];
        assert_eq!(cursor.remaining(), 0);
        assert_eq!(packet[13..], [0x08, 0x06]);
    }
}
