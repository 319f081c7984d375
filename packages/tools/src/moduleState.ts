/**
 * Finds what changes at the level of a module: two Tollgates in one process would share it. State belongs into what
 * `createTollgate` makes. Constant tables are typed as `ReadonlyMap` or `ReadonlySet`.
 */

/** What may be shared by all Tollgates of a process, and why. */
const shared: Readonly<Record<string, string>> = {
  "core/src/records/keyBucketPartition.ts partitions": "follows from an object that cannot change, forgotten with it",
  "store/src/schema/Timestamp.ts formatted": "follows from an object that cannot change, forgotten with it",
  "store/src/store/growth.ts growths": "belongs to a change, which is made and committed once",
  "node/src/nodeBody.ts detachFunctions": "belongs to a request of Node",
  "sqlite/src/ConnectionCache.ts caches": "belongs to a connection, and must be the same for all stores on it",
  "opentelemetry/src/meterBridge.ts sumsByMeter": "belongs to a meter, which keeps one value for all Tollgates",
  "store/src/runtime/turns.ts waiting": "a process has one event loop",
  "store/src/runtime/turns.ts isScheduled": "a process has one event loop",
  "store/src/crypto/SecureRandom.ts pool": "random bytes, of which each is used once",
  "store/src/crypto/SecureRandom.ts position": "random bytes, of which each is used once",
  "core/src/keys/ipAddresses.ts mappedAddresses": "a constant",
  "core/src/authorize/parseAuthorizeOptions.ts noOptions": "a constant",
  "memory/src/MemoryStore.ts emptyPartition": "a constant"
}

/** At the beginning of a line: a variable of the module. */
const variable = /^(?:export )?(?:let|var) (\w+)/gm
/** An object that may be filled: an instance of a class, or a collection that is empty. */
const object =
  /^(?:export )?const (\w+)(?:: ([^=]+?))? =\s+(?:new (?!(?:URL|RegExp|TextDecoder|TextEncoder)\b)|(?:\[\]|\{\}|Object\.create\(null\))$)/gm
const filledTypes = /^(?:$|Array<|Record<|Map<|Set<|WeakMap<|WeakSet<)/

/** The names of what changes at the level of a module, in a file such as `core/src/keys/ApiKeys.ts`. */
export const findModuleState = (file: string, source: string): ReadonlyArray<string> => {
  const objects = [...source.matchAll(object)].filter(([, , type = ""]) => filledTypes.test(type))
  const names = [...source.matchAll(variable), ...objects].map(([, name]) => `${file} ${name}`)
  return names.filter((name) => !(name in shared))
}
