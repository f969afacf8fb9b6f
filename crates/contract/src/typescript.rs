//! Generates `ui/src/lib/contract/index.ts`: every type that crosses to the page, and the table of commands.
//!
//! `COUNTERSIGN_WRITE_CONTRACT=1 cargo test -p contract` writes the file; without it the test fails when the
//! committed file differs.

use std::{any::TypeId, collections::BTreeMap};

use ts_rs::{Config, TS, TypeVisitor};

use crate::command::{COMMAND_DOCS, command_table};

struct Collect<'a> {
    config: &'a Config,
    seen: Vec<TypeId>,
    types: BTreeMap<String, String>,
}

impl TypeVisitor for Collect<'_> {
    fn visit<T: TS + 'static + ?Sized>(&mut self) {
        if self.seen.contains(&TypeId::of::<T>()) {
            return;
        }
        self.seen.push(TypeId::of::<T>());
        // Only derived types have a file of their own, and so a declaration.
        if T::output_path().is_some() {
            let mut text = String::new();
            if let Some(docs) = T::docs() {
                text.push_str(&docs);
            }
            text.push_str("export ");
            text.push_str(&T::decl(self.config));
            self.types.insert(T::ident(self.config), text);
        }
        T::visit_generics(self);
        T::visit_dependencies(self);
    }
}

/// The whole generated file.
#[must_use]
pub fn generate() -> String {
    // Every integer of the contract stays below 2^53, so a JavaScript number is exact.
    let config = Config::new().with_large_int("number");
    let mut collect = Collect { config: &config, seen: Vec::new(), types: BTreeMap::new() };
    collect.visit::<crate::patch::Batch>();
    collect.visit::<crate::error::AppError>();
    crate::command::visit_types(&mut collect);
    let mut file = String::from(
        "// Generated from crates/contract. Do not edit: run `COUNTERSIGN_WRITE_CONTRACT=1 cargo test -p contract`.\n\n",
    );
    for text in collect.types.values() {
        file.push_str(text);
        file.push_str("\n\n");
    }
    file.push_str("/** Every command: its arguments and its result. */\nexport interface Commands {\n");
    let table = command_table(&config);
    for (row, docs) in table.iter().zip(COMMAND_DOCS) {
        file.push_str(&format!("  /**{docs} */\n  {}: {{ args: {}; result: {} }};\n", row.name, row.args, row.result));
    }
    file.push_str("}\n\n/** The names of all commands. */\nexport const commandNames = [\n");
    for row in &table {
        file.push_str(&format!("  '{}',\n", row.name));
    }
    file.push_str("] as const satisfies readonly (keyof Commands)[];\n");
    file
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_committed_contract_is_the_generated_one() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ui/src/lib/contract/index.ts");
        let generated = super::generate();
        if std::env::var_os("COUNTERSIGN_WRITE_CONTRACT").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &generated).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default().replace("\r\n", "\n");
        assert!(
            committed == generated,
            "ui/src/lib/contract/index.ts differs: run `COUNTERSIGN_WRITE_CONTRACT=1 cargo test -p contract`"
        );
    }
}
