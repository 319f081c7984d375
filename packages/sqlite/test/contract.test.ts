import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { SqliteStore } from "@tollgate/sqlite"
import { storeContract } from "@tollgate/store-testkit"

storeContract("a SQLite file", SqliteStore.layer(join(mkdtempSync(join(tmpdir(), "t-")), "s.db")))
