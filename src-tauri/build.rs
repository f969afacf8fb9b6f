//! Gives every command of the contract a permission of its own, and notices when the built page changes.

fn main() {
    let commands: Vec<&'static str> = contract::command::COMMAND_NAMES.iter().copied().chain(["subscribe"]).collect();
    let manifest = tauri_build::AppManifest::new().commands(commands.leak());
    println!("cargo:rerun-if-changed=../ui/dist");
    println!("cargo:rerun-if-changed=isolation");
    println!("cargo:rerun-if-changed=capabilities");
    if let Err(error) = tauri_build::try_build(tauri_build::Attributes::new().app_manifest(manifest)) {
        println!("cargo::error={error:#}");
        std::process::exit(1);
    }
}
