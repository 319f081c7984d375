import { ensurePostgres } from "../src/postgresBinary.ts"

/** Makes sure that PostgreSQL is installed, or fails with the command that installs it. */
export default function setup(): void {
  ensurePostgres()
}
