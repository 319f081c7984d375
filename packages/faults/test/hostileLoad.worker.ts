import { runAsWorker } from "@tollgate/testing"
import { runAttacks } from "./hostileAttacks.ts"

runAsWorker(runAttacks)
