/**
 * Manifests of the releases that were requested last. Anybody may request a site, so the cache is bounded by bytes, and
 * so is what is being read at one time.
 */
import type { Manifest } from "./manifest.ts"

const maxCachedBytes = 32 * 1024 * 1024
/** What keeping a manifest costs beside its lines. */
const entryOverhead = 1024
/** How many manifests are read at the same time. */
const maxConcurrentLoads = 4

const costOf = ({ lines }: Manifest): number => lines.length + entryOverhead

const makeQueue = (slots: number) => {
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
  /** In the order of their last use. */
  const cached = new Map<string, Manifest>()
  const loading = new Map<string, Promise<Manifest>>()
  const enqueue = makeQueue(maxConcurrentLoads)
  let bytes = 0

  const remove = (id: string): void => {
    const known = cached.get(id)
    if (known !== undefined) bytes -= costOf(known)
    cached.delete(id)
  }

  const keep = (id: string, manifest: Manifest): void => {
    cached.set(id, manifest)
    bytes += costOf(manifest)
    for (const oldest of cached.keys()) {
      if (bytes <= maxBytes) return
      remove(oldest)
    }
  }

  const loadOnce = (id: string): Promise<Manifest> => {
    const known = loading.get(id)
    if (known !== undefined) return known
    const started = enqueue(() => load(id))
    loading.set(id, started)
    const isCurrent = () => loading.get(id) === started && loading.delete(id)
    started.then(
      (manifest) => isCurrent() && keep(id, manifest),
      () => isCurrent()
    )
    return started
  }

  return {
    get: async (id) => {
      const known = cached.get(id)
      if (known === undefined) return loadOnce(id)
      cached.delete(id)
      cached.set(id, known)
      return known
    },
    delete: (id) => {
      loading.delete(id)
      remove(id)
    }
  }
}
