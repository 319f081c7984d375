/**
 * Every metric, declared once. Names and units follow the semantic conventions of OpenTelemetry. Attributes take their
 * values from closed sets, such as routes and reasons, so that the number of series does not grow with the tenants.
 */

export interface Instrument {
  /** `gauge`: a value that is read when the metrics are collected. */
  readonly kind: "counter" | "gauge" | "histogram"
  readonly name: string
  readonly unit: string
  readonly description: string
  readonly attributes: ReadonlyArray<string>
  /** The bounds of the buckets of a histogram. */
  readonly boundaries?: ReadonlyArray<number>
}

/** The values that one series of an instrument has. */
export type Attributes = Readonly<Record<string, string | number>>

/** As the semantic conventions recommend. */
export const requestSeconds = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const storeSeconds = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10]
/** From a decision in memory to one that waits for a store. */
const decisionSeconds = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]
const delaySeconds = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export const instruments = {
  httpRequestDuration: {
    kind: "histogram",
    name: "http.server.request.duration",
    unit: "s",
    description: "Duration of requests to the HTTP API, until the response is ready",
    attributes: ["http.request.method", "http.route", "http.response.status_code", "error.type"],
    boundaries: requestSeconds
  },
  httpActiveRequests: {
    kind: "gauge",
    name: "http.server.active_requests",
    unit: "{request}",
    description: "Requests to the HTTP API that are being handled",
    attributes: []
  },
  authorizations: {
    kind: "counter",
    name: "tollgate.authorize",
    unit: "{decision}",
    description: "Decisions on requests to protected routes",
    attributes: ["tollgate.outcome", "tollgate.reason"]
  },
  authorizeDuration: {
    kind: "histogram",
    name: "tollgate.authorize.duration",
    unit: "s",
    description: "Duration of decisions on requests to protected routes",
    attributes: ["tollgate.outcome"],
    boundaries: decisionSeconds
  },
  storeDuration: {
    kind: "histogram",
    name: "db.client.operation.duration",
    unit: "s",
    description: "Duration of store operations, including retries and the time in a queue",
    attributes: ["db.system.name", "db.operation.name", "error.type"],
    boundaries: storeSeconds
  },
  commits: {
    kind: "counter",
    name: "tollgate.store.commits",
    unit: "{commit}",
    description: "Commits by outcome: applied, replayed (an idempotent retry), unavailable, or why they were refused",
    attributes: ["db.system.name", "tollgate.outcome"]
  },
  storeRetries: {
    kind: "counter",
    name: "tollgate.store.retries",
    unit: "{retry}",
    description: "Attempts that were repeated after a connection problem",
    attributes: ["db.system.name"]
  },
  storeQueue: {
    kind: "gauge",
    name: "tollgate.store.queue",
    unit: "{operation}",
    description: "Operations that wait for their batch",
    attributes: ["db.system.name"]
  },
  cacheLookups: {
    kind: "counter",
    name: "tollgate.verify_cache.lookups",
    unit: "{lookup}",
    description: "Look-ups in the cache of verified keys",
    attributes: ["tollgate.result"]
  },
  cacheEntries: {
    kind: "gauge",
    name: "tollgate.verify_cache.entries",
    unit: "{entry}",
    description: "Keys in the cache of verified keys",
    attributes: []
  },
  events: {
    kind: "counter",
    name: "tollgate.events",
    unit: "{event}",
    description: "Events that this process has moved to the logs of accounts, without those of webhooks",
    attributes: []
  },
  eventDelay: {
    kind: "histogram",
    name: "tollgate.events.delay",
    unit: "s",
    description: "Time from a change until its event is in the log",
    attributes: [],
    boundaries: delaySeconds
  },
  eventQueue: {
    kind: "gauge",
    name: "tollgate.events.queue",
    unit: "{partition}",
    description: "Partitions whose events this process is moving or has yet to move",
    attributes: []
  },
  hookCalls: {
    kind: "counter",
    name: "tollgate.hooks.calls",
    unit: "{call}",
    description: "Calls of onEvent and onQuotaThreshold",
    attributes: ["tollgate.hook", "tollgate.outcome"]
  },
  jobs: {
    kind: "counter",
    name: "tollgate.jobs",
    unit: "{job}",
    description: "Background jobs that this process has run, by kind and outcome",
    attributes: ["tollgate.job", "tollgate.outcome"]
  },
  jobsDelay: {
    kind: "histogram",
    name: "tollgate.jobs.delay",
    unit: "s",
    description: "Time from when a background job was due until it ran",
    attributes: ["tollgate.job"],
    boundaries: delaySeconds
  },
  jobsQueue: {
    kind: "gauge",
    name: "tollgate.jobs.queue",
    unit: "{job}",
    description: "Background jobs that are due and wait for their turn in this process, or run",
    attributes: []
  }
} as const satisfies Readonly<Record<string, Instrument>>
