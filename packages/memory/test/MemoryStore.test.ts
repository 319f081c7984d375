import { MemoryStore } from "@tollgate/memory"
import { storeContract } from "@tollgate/store-testkit"

storeContract("memory", MemoryStore.layer)
