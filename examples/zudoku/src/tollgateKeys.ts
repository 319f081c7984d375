/**
 * The keys of Tollgate for the API keys plugin of Zudoku, in the browser: `apiKeys: { enabled: true, ...tollgateKeys(url) }`.
 */
interface Context {
  /** Adds the access token of the person who is signed in. */
  readonly signRequest: (request: Request) => Promise<Request>
}

export interface PortalConsumer {
  readonly id: string
  readonly label: string
  readonly apiKeys: Array<{ id: string; key: string; description?: string; createdOn?: string; expiresOn?: string }>
}

/** `url` is where your server has the routes of `makeKeyRoutes`. */
export const tollgateKeys = (url: string) => {
  const send = async ({ signRequest }: Context, method: string, path: string, body: unknown = {}) => {
    const json = method === "GET" ? {} : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }
    const response = await fetch(await signRequest(new Request(url + path, { method, ...json })))
    if (response.ok) return response
    const { error } = (await response.json().catch(() => ({}))) as { readonly error?: string }
    throw new Error(error ?? `The server responded with ${response.status}`)
  }
  return {
    getConsumers: async (context: Context): Promise<Array<PortalConsumer>> => {
      const response = await send(context, "GET", "/consumers")
      return (await response.json()) as Array<PortalConsumer>
    },
    createKey: async (input: { apiKey: { description: string; expiresOn?: string }; context: Context }) => {
      await send(input.context, "POST", "/keys", input.apiKey)
    },
    rollKey: async (consumerId: string, context: Context) => {
      await send(context, "POST", `/consumers/${consumerId}/roll-key`)
    },
    deleteKey: async (consumerId: string, keyId: string, context: Context) => {
      await send(context, "DELETE", `/consumers/${consumerId}/keys/${keyId}`)
    },
    updateConsumer: async ({ id, label }: { id: string; label?: string }, context: Context) => {
      await send(context, "PATCH", `/consumers/${id}`, { label })
    }
  }
}
