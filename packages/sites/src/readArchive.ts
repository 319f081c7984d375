import { type Budget, maxInflatedBytes } from "./Budget.ts"
import { ByteReader } from "./ByteReader.ts"
import { gunzip } from "./gunzip.ts"
import { quote, ReleaseRejectedError, type UnpackLimits } from "./limits.ts"
import { readTar, type TarEntry } from "./readTar.ts"
import { DamagedArchiveError } from "./tarHeader.ts"

const hasCode = (error: unknown, ...codes: ReadonlyArray<string>): boolean =>
  error instanceof Error && "code" in error && codes.includes(String(error.code))

const isDamage = (error: unknown): boolean =>
  error instanceof DamagedArchiveError || hasCode(error, "Z_DATA_ERROR", "Z_BUF_ERROR")

/** Calls `visit` with each entry of a gzipped tar archive, one at a time. */
export const readArchive = async (
  source: AsyncIterable<Uint8Array>,
  budget: Budget,
  limits: UnpackLimits,
  visit: (entry: TarEntry) => Promise<void>
): Promise<void> => {
  const maxBytes = maxInflatedBytes(limits)
  let inflated = 0
  let lastPath: string | undefined

  async function* limitSize(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      inflated += chunk.length
      if (inflated > maxBytes)
        throw new ReleaseRejectedError(`The archive unpacks to more than the limit of ${limits.bytes} bytes`)
      yield chunk
    }
  }

  try {
    for await (const entry of readTar(new ByteReader(limitSize(gunzip(source))), budget)) {
      lastPath = entry.path
      await visit(entry)
    }
  } catch (error) {
    if (!isDamage(error)) throw error
    if (inflated === 0) throw new ReleaseRejectedError("The source is not a gzip archive, or is damaged")
    throw new ReleaseRejectedError(
      `The archive is damaged or truncated${lastPath === undefined ? "" : ` after ${quote(lastPath)}`}`
    )
  }
}
