/** Core together with all modules, as the generated pages describe them. */
import { adminConsole } from "@tollgate/console"
import { createTollgate, type Tollgate } from "@tollgate/core"
import { type Instrument, instruments } from "@tollgate/core/internal"
import { decisions } from "@tollgate/decisions"
import { deployments, memorySourceStore, memoryTarget } from "@tollgate/deployments"
import { MemoryStore } from "@tollgate/memory"
import { customerPortal } from "@tollgate/portal"
import { tokens } from "@tollgate/tokens"
import { webhooks } from "@tollgate/webhooks"
import { coreLimits, type LimitDescriptions } from "../../../core/src/accounts/limits/Limits.ts"
import { coreEvents } from "../../../core/src/events/coreEvents.ts"
import type { EventCatalog } from "../../../core/src/outbox/Event.ts"
import { deploymentInstruments } from "../../../deployments/src/runner/deploymentInstruments.ts"
import { webhookInstruments } from "../../../webhooks/src/webhookInstruments.ts"

const modules = [
  decisions(),
  deployments({ sources: memorySourceStore(), target: memoryTarget() }),
  tokens(),
  webhooks(),
  adminConsole(),
  customerPortal()
]

/** Opens a Tollgate with all modules. */
export const openGate = (): Promise<Tollgate> =>
  createTollgate({ store: MemoryStore.open(), secret: "x".repeat(32), publicUrl: "https://api.tollgate.test", modules })

export const allEvents: EventCatalog = Object.assign({}, coreEvents, ...modules.map(({ events }) => events))

export const allLimits: LimitDescriptions = Object.assign({}, coreLimits, ...modules.map(({ limits }) => limits))

export const allInstruments: ReadonlyArray<Instrument> = Object.values<Instrument>({
  ...instruments,
  ...deploymentInstruments,
  ...webhookInstruments
})
