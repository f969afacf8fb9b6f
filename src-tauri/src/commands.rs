//! Every command of the contract, thin: arguments in, one call, typed result out.
//!
//! [`NAMES`] and the handler are made from one list, and a test holds them to the contract's table.

pub mod app;
pub mod beside;
pub mod history;
pub mod leaving;
pub mod practice;
pub mod requests;
pub mod servers;
pub mod sessions;

macro_rules! command_list {
    ($($noun:ident :: $name:ident),* $(,)?) => {
        /// The names of all commands that are registered.
        pub const NAMES: &[&str] = &[$(stringify!($name)),*];

        /// Answers the page's calls.
        pub fn handler<R: tauri::Runtime>() -> impl Fn(tauri::ipc::Invoke<R>) -> bool + Send + Sync + 'static {
            tauri::generate_handler![$($noun::$name),*]
        }
    };
}

command_list![
    app::subscribe,
    app::overview,
    app::set_preferences,
    app::report_page_error,
    app::page_ready,
    app::close_window,
    servers::probe_server,
    servers::add_server,
    servers::edit_server,
    servers::replace_token,
    servers::pause_server,
    servers::reorder_servers,
    servers::remove_server,
    servers::refresh_server,
    servers::new_session_options,
    servers::create_environment,
    servers::change_server_setting,
    practice::set_practice,
    practice::start_scenario,
    practice::list_scenarios,
    sessions::create_session,
    sessions::open_session,
    sessions::close_session,
    sessions::read_items,
    sessions::read_payload,
    sessions::send_message,
    beside::set_run_options,
    beside::set_session_setup,
    beside::resume_run,
    beside::fork_session,
    beside::compact_session,
    beside::name_session,
    beside::ask_aside,
    beside::session_context,
    beside::complete_mention,
    beside::export_session,
    sessions::queued_message,
    sessions::stop_session,
    sessions::retry_now,
    sessions::rename_session,
    sessions::archive_session,
    sessions::delete_session,
    sessions::define_outcome,
    sessions::connection_log,
    requests::decide,
    requests::waiting_requests,
    requests::decisions,
    history::search_history,
    leaving::open_link,
    leaving::copy_text,
];
