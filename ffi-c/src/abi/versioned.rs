//! Structs that grow: the first field is the size that the caller was compiled with.

use std::mem::{MaybeUninit, size_of};

use super::arguments::{Flag, Items};
use super::hook::{Context, ReleaseFn};
use super::text::{Bytes, pointsman_str, too_long};
use crate::codes::{POINTSMAN_BAD_SIZE, POINTSMAN_NULL};
use crate::error::Fault;

/// Beyond this a size is noise.
const LARGEST: usize = 4096;

/// A struct whose first field is its size, as a `usize`.
///
/// # Safety
///
/// The type is `repr(C)`, its first field is the size, and any bits are a value of it.
pub(crate) unsafe trait Versioned: Copy + 'static {
    /// What fields have that the caller's version does not know.
    const INIT: Self;
    /// The size of the struct's first version.
    const FIRST: usize;
    /// The macro that initialises it.
    const MACRO: &'static str;
}

/// Copies a struct, whatever its version. Bytes that only a later version of the library knows must be zero.
///
/// # Safety
///
/// `raw` is not NULL, and as many bytes can be read there as its first field says, if that is a plausible size.
#[inline]
pub(super) unsafe fn read<T: Versioned>(raw: *const T, name: &'static str) -> Result<T, Fault> {
    // SAFETY: every version begins with its size.
    let size = unsafe { raw.cast::<usize>().read() };
    if size == size_of::<T>() {
        // SAFETY: the struct says that it is of this version.
        return Ok(unsafe { raw.read() });
    }
    // SAFETY: the caller's promise.
    unsafe { read_other(raw, size, name) }
}

#[cold]
unsafe fn read_other<T: Versioned>(raw: *const T, size: usize, name: &'static str) -> Result<T, Fault> {
    if !(T::FIRST..=LARGEST).contains(&size) {
        return Err(bad_size::<T>(name, size));
    }
    let mut value = MaybeUninit::new(T::INIT);
    let known = size.min(size_of::<T>());
    // SAFETY: `known` bytes can be read, by the promise, and written, since they are no more than a `T` has. Any bits are a
    // value of `T`.
    let value = unsafe {
        raw.cast::<u8>().copy_to_nonoverlapping(value.as_mut_ptr().cast(), known);
        value.assume_init()
    };
    for at in known..size {
        // SAFETY: `at` is below the size that the struct says it has.
        if unsafe { raw.cast::<u8>().add(at).read() } != 0 {
            let message = format!("{name}.size is {size}: it sets a field that this version does not know");
            return Err(Fault::new(POINTSMAN_BAD_SIZE, name, message));
        }
    }
    Ok(value)
}

/// Hands each of `count` structs to `with`, with its position. All have the size that the first one says.
pub(crate) fn each<T: Versioned>(
    items: Items<T>,
    count: usize,
    most: usize,
    name: &'static str,
    mut with: impl FnMut(usize, T) -> Result<(), Fault>,
) -> Result<(), Fault> {
    if count > most {
        return Err(too_long(name, count, most));
    }
    let first = items.as_ptr();
    if count == 0 {
        return Ok(());
    }
    if first.is_null() {
        return Err(Fault::new(POINTSMAN_NULL, name, format!("{name} is NULL, of length {count}")));
    }
    // SAFETY: not NULL, and by the promise of the module there are `count` elements.
    let stride = unsafe { first.cast::<usize>().read() };
    for index in 0..count {
        // SAFETY: elements lie one behind the other, each as large as the caller's version of the struct; that the size is
        // plausible was found when the first was read.
        let element = unsafe { first.byte_add(index * stride) };
        // SAFETY: as above.
        let size = unsafe { element.cast::<usize>().read() };
        if size != stride {
            return Err(bad_size::<T>(name, size).at(index));
        }
        // SAFETY: as above.
        let value = unsafe { read(element, name) }.map_err(|fault| fault.at(index))?;
        with(index, value)?;
    }
    Ok(())
}

/// A type of which any bits are a value.
///
/// # Safety
///
/// That is so.
pub(crate) unsafe trait AnyBits {}

macro_rules! any_bits {
    ($($type:ty),* $(,)?) => {$(
        // SAFETY: numbers, pointers that are not followed without a check, and a function pointer that may be NULL.
        unsafe impl AnyBits for $type {}
    )*};
}

any_bits!(i32, u8, u32, u64, usize, f64, Flag, Bytes, Context, ReleaseFn, pointsman_str);

// SAFETY: a pointer that is not followed without a check.
unsafe impl<T> AnyBits for Items<T> {}
// SAFETY: the elements'.
unsafe impl<T: AnyBits, const N: usize> AnyBits for [T; N] {}

pub(crate) const fn check<T: AnyBits>(_: &T) {}

/// Makes a `repr(C)` struct whose first field is `size` a versioned one: its first version's size, the macro of the header,
/// and the value of every other field in that macro.
macro_rules! versioned {
    ($type:ty, first $first:literal bytes, set by $macro:ident; $($field:ident: $value:expr),* $(,)?) => {
        // SAFETY: the size is first, and every field is one of which any bits are a value; both are checked below.
        #[allow(unsafe_code)]
        unsafe impl $crate::abi::Versioned for $type {
            const INIT: Self = Self { $($field: $value),* };
            const FIRST: usize = $first;
            const MACRO: &'static str = stringify!($macro);
        }

        const _: () = {
            let init = <$type as $crate::abi::Versioned>::INIT;
            $($crate::abi::any_bits(&init.$field);)*
            assert!(std::mem::offset_of!($type, size) == 0 && size_of::<$type>() >= $first);
        };
    };
}

pub(crate) use versioned;

fn bad_size<T: Versioned>(name: &'static str, size: usize) -> Fault {
    let message = format!("{name}.size is {size}, must be set by {}", T::MACRO);
    Fault::new(POINTSMAN_BAD_SIZE, name, message)
}
