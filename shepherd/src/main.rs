//! The small binary; everything lies in the library, which `oxherd` carries as well.
#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    oxherd_shepherd::main()
}
