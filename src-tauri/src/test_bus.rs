//! A session bus of a test's own, which starts nothing by itself and ends with the value.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use zbus::Connection;

/// The system's own configuration would start programs of this computer that offer what a test asks for.
const CONFIG: &str = "<!DOCTYPE busconfig PUBLIC \"-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN\" \
    \"http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd\">\
    <busconfig><type>session</type><listen>unix:dir=FOLDER</listen><auth>EXTERNAL</auth>\
    <policy context=\"default\"><allow send_destination=\"*\" eavesdrop=\"true\"/><allow eavesdrop=\"true\"/>\
    <allow own=\"*\"/></policy></busconfig>";

/// The bus.
pub(crate) struct Bus {
    daemon: Child,
    _folder: tempfile::TempDir,
    /// Where programs find it.
    pub(crate) address: String,
}

impl Bus {
    /// Starts one.
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("bus.conf");
        std::fs::write(&config, CONFIG.replace("FOLDER", folder.path().to_str().unwrap())).unwrap();
        let mut daemon = Command::new("dbus-daemon")
            .args(["--nofork", "--print-address"])
            .arg(format!("--config-file={}", config.display()))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(daemon.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { daemon, _folder: folder, address: address.trim().to_owned() }
    }

    /// A program's connection to it.
    pub(crate) async fn connect(&self) -> Connection {
        zbus::connection::Builder::address(self.address.as_str()).unwrap().build().await.unwrap()
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.daemon.kill().unwrap();
        self.daemon.wait().unwrap();
    }
}
