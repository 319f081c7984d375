/**
 * Compares the numbers of docs/operations/limits.md with the constants in the sources. The constants need not be
 * exported: they are found by their names.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { defaultLimits } from "../../sites/src/limits.ts"
import { allLimits } from "../src/docs/allModules.ts"

const packages = join(import.meta.dirname, "../..")
const page = readFileSync(join(packages, "../docs/operations/limits.md"), "utf8")

const formatCount = (count: number): string => count.toLocaleString("en-US")

/** The second cell of each row, by the first. */
const rows = new Map(
  [...page.matchAll(/^\| ([^|]+?) +\| ([^|]+?) +\|/gm)].map(([, label = "", value = ""]) => [
    label.replaceAll("`", ""),
    value
  ])
)

/** Computes a product such as `64 * 1024`, with names of the same file. */
const evaluate = (expression: string, source: string): number =>
  expression.split("*").reduce((product, factor) => {
    const text = factor.trim().replaceAll("_", "")
    return product * (/^\d+$/.test(text) ? Number(text) : findConstant(source, factor.trim()))
  }, 1)

const findConstant = (source: string, name: string): number => {
  const pattern = new RegExp(`\\b${name}(?: =|:| \\?\\?) (?:\\{ \\w+: )?"?(\\d\\w*(?: \\* \\w+)*)`)
  const [, expression] = pattern.exec(source) ?? []
  if (expression === undefined) throw new Error(`${name} is not in the source`)
  return evaluate(expression, source)
}

/** The divisor converts the constant to the unit of the page. */
type Constant = readonly [row: string, unit: string, file: string, name: string, divisor?: number]

const constants: ReadonlyArray<Constant> = [
  ["JSON body", "MiB", "core/src/Http.ts", "bodyLimit", 1024 * 1024],
  ["Time for a JSON body to arrive", "seconds", "core/src/http/body.ts", "bodyTimeout"],
  ["Nesting of a JSON body", "levels", "store/src/schema/SafeJson.ts", "maxDepth"],
  ["Entries of a list or object, except metadata", "", "store/src/schema/SafeJson.ts", "maxEntries"],
  ["Values of a JSON body, at all levels", "", "store/src/schema/SafeJson.ts", "maxValues"],
  ["Body of $verify and of a session of the console", "bytes", "core/src/api/Owner.ts", "shortBody"],
  [
    "JSON bodies of an account at once, without those of up to 16 KiB",
    "MiB",
    "core/src/http/lanes.ts",
    "maxBodyBytes",
    1024 * 1024
  ],
  [
    "Requests of a connection that wait, above which it is paused",
    "",
    "store/src/runtime/RequestBatches.ts",
    "pauseAbove"
  ],
  [
    "Requests of a connection that wait, such as those that Node had read before",
    "",
    "store/src/runtime/RequestBatches.ts",
    "maxWaitingOfConnection"
  ],
  ["Requests of all connections that wait", "", "store/src/runtime/RequestBatches.ts", "maxWaiting"],
  ["Items of a page", "", "store/src/schema/Page.ts", "maxLimit"],
  ["Embedded keys of one consumer", "", "core/src/consumers/toConsumers.ts", "maxKeysInOneConsumer"],
  ["Embedded keys of each listed consumer", "", "core/src/consumers/toConsumers.ts", "maxKeysPerListedConsumer"],
  ["Embedded keys of a page of consumers", "", "core/src/consumers/toConsumers.ts", "maxKeysInList"],
  [
    "A recorded response of an Idempotency-Key",
    "hours",
    "store/src/store/Idempotency.ts",
    "resultTtlMs",
    60 * 60 * 1000
  ],
  ["actor of a call", "characters", "core/src/promises/makeMethods.ts", "maxActorLength"],
  ["Response of which the client reads nothing", "seconds", "node/src/toNodeHandler.ts", "defaultSendTimeout", 1000],
  ["Waiting for requests in gate.close()", "seconds", "core/src/Tollgate.ts", "drainTimeoutMs", 1000],
  ["Response to a call of the client", "seconds", "core/src/client/makeRemoteOperations.ts", "responseTimeout"],
  ["Tags", "", "store/src/schema/Tags.ts", "maxTags"],
  ["metadata", "KiB", "store/src/schema/Metadata.ts", "maxBytes", 1024],
  ["Managers and invites", "", "core/src/records/Manager.ts", "maxManagers"],
  ["Keys in one request, or in one import", "", "core/src/records/ApiKey.ts", "maxKeysPerRequest"],
  ["URL of a webhook", "characters", "webhooks/src/Webhook.ts", "maxUrlLength"],
  ["Keys of a consumer", "", "core/src/records/ApiKey.ts", "maxKeysPerConsumer"],
  ["Changes of a customer in its portal at once", "", "portal/src/customerChanges.ts", "burst"],
  ['"Last used" of a key', "days", "core/src/keys/KeyUse.ts", "ttl", 24 * 60 * 60 * 1000],
  ["Subscriptions considered for a customer", "", "core/src/metering/model/customerEntitlements.ts", "maxPerStatus"],
  [
    "Canceled subscriptions that a customer may return to",
    "",
    "core/src/metering/subscriptions/canceledSubscriptions.ts",
    "maxCanceled"
  ],
  ["Duration of a reservation", "seconds", "core/src/metering/model/Reservation.ts", "defaultReservationSeconds"],
  ["Plans in one plans.ensure", "", "core/src/metering/model/Plan.ts", "maxEnsuredPlans"],
  ["A sign-up with a subscription", "seconds", "core/src/consumers/signUpIntents.ts", "signUpLifetime"],
  ["Settling a request after the end of its response", "second", "protect/src/settleRequest.ts", "settleAfterEnd"],
  ["Open reservations of a subscription", "", "core/src/metering/model/reservationRecords.ts", "maxOpenReservations"],
  ["Open grants of a customer and meter", "", "core/src/metering/credits/grantRecords.ts", "maxOpenGrants"],
  ["Alerts of a customer", "", "core/src/metering/alerts/Alerts.ts", "maxAlerts"],
  ["Hours of usage", "days", "core/src/metering/model/usageCounters.ts", "keptHours", 24],
  ["Days of usage", "days", "core/src/metering/model/usageCounters.ts", "keptDays"],
  ["Steps of a usage series", "", "core/src/metering/history/seriesRange.ts", "maxSteps"],
  ["Numbers of a usage series", "", "core/src/metering/history/UsageHistory.ts", "maxValues"],
  ["RateLimit headers", "characters", "core/src/rateLimits/rateLimitHeaders.ts", "maxHeaderLength"],
  ["Customers that used most", "", "core/src/metering/model/SubscriptionUsage.ts", "maxTopCustomers"],
  ["Events in a batch of usage", "", "core/src/metering/model/UsageEvent.ts", "maxEvents"],
  ["Events of a customer in one commit", "", "core/src/metering/usage/recordEvents.ts", "maxTogether"],
  ["Age of an event of usage", "hours", "core/src/metering/model/UsageEvent.ts", "maxEventAgeHours"],
  ["An event of usage is ahead by", "minutes", "core/src/metering/model/UsageEvent.ts", "maxEventAheadMs", 60 * 1000],
  ["Events of usage that were counted", "hours", "core/src/metering/model/UsageEvent.ts", "rememberedHours"],
  ["Items of a page with their usage", "", "core/src/api/query.ts", "maxWithUsage"],
  ["Age of a change", "days", "core/src/outbox/EventRetention.ts", "retentionDays"],
  ["Changes of an account", "", "core/src/outbox/EventRetention.ts", "maxEventsPerAccount"],
  ["Data of an event", "KiB", "core/src/outbox/boundData.ts", "maxBytes", 1024],
  ["An attempt to deliver", "seconds", "webhooks/src/sendWebhook.ts", "timeoutSeconds"],
  ["Resolution of a name", "seconds", "webhooks/src/resolveTarget.ts", "resolutionTimeoutMs", 1000],
  ["Body that is read of a response", "KiB", "webhooks/src/sendWebhook.ts", "maxResponseBytes", 1024],
  ["An endpoint that only fails", "days", "webhooks/src/finishAttempts.ts", "maxFailing"],
  ["Ended deliveries that are kept of a webhook", "", "webhooks/src/cleanDeliveries.ts", "maxFinished"],
  ["A rotated secret of a webhook", "hours", "webhooks/src/webhookSecrets.ts", "overlap"],
  ["Deliveries at a time in a process", "", "webhooks/src/deliverySlots.ts", "maxInAll"],
  ["Deliveries at a time of an account", "", "webhooks/src/deliverySlots.ts", "maxPerAccount"],
  ["Deliveries at a time of a webhook", "", "webhooks/src/deliverySlots.ts", "maxPerFastWebhook"],
  ["Validity of an upload URL", "hour", "deployments/src/uploads/Uploads.ts", "urlTtl"],
  ["Size of a source", "MiB", "deployments/src/config/DeploymentConfig.ts", "sourceLimit", 1024 * 1024],
  ["An upload that sends nothing", "seconds", "deployments/src/uploads/guardUpload.ts", "maxSilence"],
  ["Average rate after the first minute", "KiB/s", "deployments/src/uploads/guardUpload.ts", "minBytesPerSecond", 1024],
  ["Duration of an upload", "hour", "deployments/src/uploads/guardUpload.ts", "maxDuration", 60 * 60],
  ["Worker threads", "", "sites/src/sites.ts", "defaultWorkers"],
  ["Time of a build", "minutes", "sites/src/build.ts", "defaultTimeout", 60 * 1000],
  ["Versions that a process runs at a time", "", "deployments/src/runner/DeploymentScheduler.ts", "concurrency"],
  ["Duration of a run", "hour", "deployments/src/runner/runVersion.ts", "maxRunDuration"],
  ["Log of a run", "lines", "deployments/src/runner/LogBuffer.ts", "maxLines"],
  ["Versions that are remembered of a deployment", "", "deployments/src/runner/pruneVersions.ts", "maxVersions"],
  [
    "Versions of a deployment whose release is kept, beside the served",
    "",
    "deployments/src/model/readVersions.ts",
    "maxKept"
  ],
  ["Name of a deployment", "characters", "deployments/src/model/deploymentName.ts", "maxNameLength"],
  ["A link to the console", "minutes", "tokens/src/Sessions.ts", "linkLifetimeMs", 60 * 1000],
  ["A session", "hour", "console/src/createLink.ts", "sessionLifetimeMs", 60 * 60 * 1000],
  ["Waiting for the lock of SQLite", "seconds", "sqlite/src/CommitQueue.ts", "lockTimeoutMs", 1000],
  ["A query of PostgreSQL", "seconds", "postgres/src/options.ts", "queryTimeout", 1000],
  ["Connections to PostgreSQL", "", "postgres/src/options.ts", "maxConnections"],
  ["A command of Redis", "seconds", "redis/src/client.ts", "commandTimeout", 1000],
  ["Retries while PostgreSQL or Redis is away", "ms", "store/src/store/retryTransient.ts", "retryBudgetMs"],
  ["Attempts of a change that others overtake", "", "store/src/store/retryOnConflict.ts", "maxAttempts"],
  ["Consumers of verified keys", "MiB", "core/src/keys/VerifyCache.ts", "maxBytes", 1024 * 1024],
  [
    "Customers that used most, remembered",
    "MiB",
    "core/src/metering/history/topCustomers.ts",
    "maxCacheBytes",
    1024 * 1024
  ],
  ["Subscriptions with their plans", "MiB", "core/src/metering/usage/Usage.ts", "maxCacheBytes", 1024 * 1024],
  ["Decoded records of each collection", "characters", "store/src/store/Collection.ts", "maxCachedTotal"],
  ["Manifests of sites", "MiB", "sites/src/manifestCache.ts", "maxCachedBytes", 1024 * 1024],
  ["A page cache of each SQLite connection", "MiB", "sqlite/src/connect.ts", "defaultPageCacheMebibytes"],
  ["Counters of each SQLite connection", "", "sqlite/src/CounterCache.ts", "maxCounters"],
  ["Versions of records of each SQLite connection", "", "sqlite/src/VersionCache.ts", "maxVersions"]
]

for (const [row, unit, file, name, divisor = 1] of constants) {
  it(`${row} is the one of the code`, () => {
    const source = readFileSync(join(packages, file), "utf8")
    const expected = [formatCount(findConstant(source, name) / divisor), unit].join(" ").trim()
    // A row may say more behind the number and its unit.
    const listed = /^[\d,]+\b(?: [A-Za-z/]+)?/.exec(rows.get(row) ?? "")?.[0]
    expect(listed).toBe(expected)
  })
}

it("lists the limits of an account with their defaults", () => {
  const section = page.slice(page.indexOf("## Accounts"), page.indexOf("## Requests"))
  const listed = [...section.matchAll(/^\| `(\w+)` +\| ([\d,]+) /gm)].map(([, name, value]) => `${name} ${value}`)
  expect(listed).toEqual(Object.entries(allLimits).map(([name, limit]) => `${name} ${formatCount(limit.default)}`))
})

it("lists the limits of a source with their defaults", () => {
  const units: Readonly<Record<string, readonly [unit: string, divisor: number]>> = {
    bytes: [" MiB", 1024 * 1024],
    pathBytes: [" MiB", 1024 * 1024],
    headerBytes: [" MiB", 1024 * 1024],
    timeoutMs: [" seconds", 1000],
    memoryMb: [" MiB", 1]
  }
  const listed = [...page.matchAll(/^\|[^|]+\| ([^|]+?) +\| `limits\.(\w+)` /gm)].map(([, value, name]) => [
    name,
    value
  ])
  const expected = Object.entries(defaultLimits).map(([name, value]) => {
    const [unit, divisor] = units[name] ?? ["", 1]
    return [name, `${formatCount(value / divisor)}${unit}`]
  })
  expect(listed).toEqual(expected)
})
