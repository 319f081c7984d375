/**
 * A cache of manifests, bounded by bytes. The number of concurrent loads is bounded too, since any client may
 * request any site.
 */
import { BoundedMap } from "@tollgate/store"
import type { Manifest } from "./manifest.ts"

const maxCachedBytes = 32 * 1024 * 1024
/** The estimated memory of a cache entry besides its lines, in bytes. */
const entryOverhead = 1024
const maxConcurrentLoads = 4

const getCost = ({ lines }: Manifest): number => lines.length + entryOverhead

const makeConcurrencyLimiter = (slots: number) => {
  const waiting: Array<() => void> = []
  let free = slots
  return async <A>(work: () => Promise<A>): Promise<A> => {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

export interface ManifestCache {
  readonly get: (id: string) => Promise<Manifest>
  readonly delete: (id: string) => void
}

export const makeManifestCache = (
  load: (id: string) => Promise<Manifest>,
  maxBytes: number = maxCachedBytes
): ManifestCache => {
  const cached = new BoundedMap<string, Manifest>(maxBytes, getCost)
  const loading = new Map<string, Promise<Manifest>>()
  const limitConcurrency = makeConcurrencyLimiter(maxConcurrentLoads)

  const loadOnce = (id: string): Promise<Manifest> => {
    const pending = loading.get(id)
    if (pending !== undefined) return pending
    const promise = limitConcurrency(() => load(id))
    loading.set(id, promise)
    /** Returns false if `delete` was called while the manifest was loading. */
    const finishLoading = () => loading.get(id) === promise && loading.delete(id)
    promise.then(
      (manifest) => finishLoading() && cached.set(id, manifest),
      () => finishLoading()
    )
    return promise
  }

  return {
    get: async (id) => cached.get(id) ?? loadOnce(id),
    delete: (id) => {
      loading.delete(id)
      cached.delete(id)
    }
  }
}
