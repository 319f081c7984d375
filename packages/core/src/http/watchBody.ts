/**
 * Watches whether a client reads the body of a response, however slowly.
 */
import { clearTimeout, setTimeout } from "node:timers"

/** A client that takes no further part of a body for this time does not get the rest. */
const maxUnreadMs = 30_000

/** Calls `onEnd` when the body has been read, has failed or is cancelled, or is not read for long. */
export const watchBody = (body: ReadableStream<Uint8Array>, onEnd: () => void): ReadableStream<Uint8Array> => {
  const reader = body.getReader()
  let timer: NodeJS.Timeout | undefined
  const end = (): void => {
    clearTimeout(timer)
    onEnd()
  }
  const expectRead = (controller: ReadableStreamDefaultController): void => {
    timer = setTimeout(() => {
      end()
      controller.error(new Error("The response was not read"))
      // Ignored: nobody is interested in the rest.
      reader.cancel().catch(() => undefined)
    }, maxUnreadMs).unref()
  }
  return new ReadableStream<Uint8Array>(
    {
      start: expectRead,
      pull: async (controller) => {
        clearTimeout(timer)
        const { done, value } = await reader.read().catch((error) => {
          end()
          throw error
        })
        if (done) {
          end()
          return controller.close()
        }
        controller.enqueue(value)
        expectRead(controller)
      },
      cancel: (reason) => {
        end()
        return reader.cancel(reason)
      }
    },
    { highWaterMark: 0 }
  )
}
