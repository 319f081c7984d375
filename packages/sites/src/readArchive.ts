import { type Budget, maxInflatedBytes } from "./Budget.ts"
import { ByteReader } from "./ByteReader.ts"
import { gunzip } from "./gunzip.ts"
import { InvalidArchiveError, quote, type UnpackLimits } from "./limits.ts"
import { readTar, type TarEntry } from "./readTar.ts"
import { DamagedArchiveError } from "./tarHeader.ts"

const hasCode = (error: unknown, ...codes: ReadonlyArray<string>): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code))

const isDamage = (error: unknown): boolean =>
  error instanceof DamagedArchiveError || hasCode(error, "Z_DATA_ERROR", "Z_BUF_ERROR")

/** Calls `visit` with every entry of a gzip tar, one at a time. */
export const readArchive = async (
  source: AsyncIterable<Uint8Array>,
  budget: Budget,
  limits: UnpackLimits,
  visit: (entry: TarEntry) => Promise<void>
): Promise<void> => {
  const mostInflated = maxInflatedBytes(limits)
  let inflated = 0
  let last: string | undefined

  async function* counted(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      inflated += chunk.length
      if (inflated > mostInflated)
        throw new InvalidArchiveError(`it unpacks to more than the ${limits.bytes} bytes allowed`)
      yield chunk
    }
  }

  try {
    for await (const entry of readTar(new ByteReader(counted(gunzip(source))), budget)) {
      last = entry.path
      await visit(entry)
    }
  } catch (error) {
    if (!isDamage(error)) throw error
    if (inflated === 0) throw new InvalidArchiveError("it is not a gzip archive, or is damaged")
    throw new InvalidArchiveError(`it is damaged or cut off${last === undefined ? "" : ` after ${quote(last)}`}`)
  }
}
