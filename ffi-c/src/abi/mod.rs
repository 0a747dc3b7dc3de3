//! Where C meets Rust: the macro that generates every exported function, and what its parameters may be.
//!
//! All `unsafe` of the crate stands on one promise of the caller, written in `CONVENTIONS.md`: a pointer that is not NULL
//! points to what its type says, for as long as the call lasts, and a handle came from this library and was not freed.
//! Types that hold such a pointer ([`pointsman_str`], [`Items`], [`Hook`]) cannot be made by safe code except empty or from
//! what Rust itself borrows, so that the safe modules may use them without a further promise.

mod arguments;
mod boundary;
mod held;
mod hook;
mod outputs;
mod text;
mod versioned;

#[cfg(feature = "test-panic")]
mod test_panic;

pub(crate) use arguments::{
    Argument, Document, Exclusive, Flag, Handle, Input, Items, OptHandle, OptInput, OptText, Owned, Shared,
    Text,
};
pub(crate) use boundary::{guard, guard_answer, guard_value, run};
pub(crate) use held::HeldPicker;
pub(crate) use hook::{Context, ReleaseFn};
pub(crate) use outputs::{Answer, CText, New, OptOut, Out, OutItems, Output, Slot};
pub(crate) use text::{Bytes, pointsman_str};
pub(crate) use versioned::{Versioned, check as any_bits, each, versioned};

/// Declares exported functions.
///
/// | form | what C sees |
/// |---|---|
/// | `fn name(a: A, …) -> (out: O) { … }` | `pointsman_result name(A a, …, O out, pointsman_error *error)` |
/// | `fn name(a: A, …) => (out: T) { … }` | the same with `T *out`, for which the body answers with a `Slot` itself: the shortest way |
/// | `free fn name(a: T);` | `void name(T *a)`, which takes NULL too |
/// | `plain fn name(a: A, …) -> V { … }` | `V name(A a, …)`, zero or NULL where it cannot be told |
///
/// Every function checks its arguments by their types, in their order, then the place of its result, and runs its body
/// inside the panic boundary. The body's value is stored only if it is `Ok`. The header's generator reads these blocks too.
macro_rules! exports {
    () => {};
    ($(#[$meta:meta])* free fn $name:ident($arg:ident: $type:ty); $($rest:tt)*) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($arg: *mut $type) {
            $crate::abi::guard_value(|| {
                // SAFETY: the caller's promise for handles; NULL is told apart inside.
                if let Ok(handle) = unsafe {
                    <$crate::abi::Owned<$type> as $crate::abi::Argument>::take($arg, stringify!($arg))
                } {
                    drop(handle.into_box());
                }
            })
        }
        exports! { $($rest)* }
    };
    ($(#[$meta:meta])* plain fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $value:ty $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: <$type as $crate::abi::Argument>::C),*) -> $value {
            $crate::abi::guard_value(|| {
                $(
                    // SAFETY: the caller's promise for arguments.
                    let taken = unsafe { <$type as $crate::abi::Argument>::take($arg, stringify!($arg)) };
                    let Ok($arg) = taken else { return Default::default() };
                )*
                $body
            })
        }
        exports! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($arg: <$type as $crate::abi::Argument>::C,)*
            error: *mut $crate::error::pointsman_error,
        ) -> $crate::codes::pointsman_result {
            $crate::abi::guard(error, || {
                $(
                    // SAFETY: the caller's promise for arguments.
                    let $arg = unsafe { <$type as $crate::abi::Argument>::take($arg, stringify!($arg)) }?;
                )*
                $body
            })
        }
        exports! { $($rest)* }
    };
    (
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) => ($out:ident: $value:ty) $body:block
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($arg: <$type as $crate::abi::Argument>::C,)*
            $out: *mut $value,
            error: *mut $crate::error::pointsman_error,
        ) -> $crate::codes::pointsman_result {
            $crate::abi::guard_answer(error, || {
                $(
                    // SAFETY: the caller's promise for arguments.
                    let taken = unsafe { <$type as $crate::abi::Argument>::take($arg, stringify!($arg)) };
                    let $arg = match taken {
                        Ok(taken) => taken,
                        Err(fault) => return $crate::abi::Answer::refused(error, fault),
                    };
                )*
                // SAFETY: the caller's promise for the places of results.
                let $out = match unsafe { $crate::abi::Slot::new($out, stringify!($out), error) } {
                    Ok(slot) => slot,
                    Err(fault) => return $crate::abi::Answer::refused(error, fault),
                };
                $body
            })
        }
        exports! { $($rest)* }
    };
    (
        $(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> ($out:ident: $place:ty) $body:block
        $($rest:tt)*
    ) => {
        $(#[$meta])*
        #[allow(unsafe_code)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            $($arg: <$type as $crate::abi::Argument>::C,)*
            $out: <$place as $crate::abi::Output>::C,
            error: *mut $crate::error::pointsman_error,
        ) -> $crate::codes::pointsman_result {
            $crate::abi::guard(error, || {
                $(
                    // SAFETY: the caller's promise for arguments.
                    let $arg = unsafe { <$type as $crate::abi::Argument>::take($arg, stringify!($arg)) }?;
                )*
                <$place as $crate::abi::Output>::check($out, stringify!($out))?;
                let value = $crate::abi::run(|| $body)?;
                // SAFETY: the caller's promise for the places of results, and it is not NULL unless it may be.
                unsafe { <$place as $crate::abi::Output>::put($out, value) };
                Ok(())
            })
        }
        exports! { $($rest)* }
    };
}

pub(crate) use exports;
