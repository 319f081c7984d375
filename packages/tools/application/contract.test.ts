import { MemoryStore } from "@tollgate/memory"
import { storeContract } from "@tollgate/store-testkit"

storeContract("the installed memory store", MemoryStore.layer)
