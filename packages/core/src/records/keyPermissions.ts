interface KeyRequest {
  readonly query?: Readonly<Record<string, unknown>>
  readonly payload?: unknown
}

const getFields = ({ payload }: KeyRequest): ReadonlyArray<string> =>
  typeof payload === "object" && payload !== null ? Object.keys(payload) : []

/** What creating a consumer needs beside its permission: to create keys with it. Their values are new to the caller. */
export const createPermissions = {
  "keys:read": ({ query = {} }: KeyRequest): boolean => query["apiKeys"] === true,
  "keys:write": (request: KeyRequest): boolean =>
    request.query?.["withApiKey"] === true || getFields(request).includes("apiKeys")
}

/** What a roll needs beside its permission, if it changes what the key of the consumer may be used for. */
export const rollPermissions = {
  "keys:write": (request: KeyRequest): boolean => getFields(request).includes("scopes")
}

/** What other requests about consumers or keys need: to show keys or their values, or to create keys. */
export const keyPermissions = {
  ...createPermissions,
  "keys:reveal": ({ query = {} }: KeyRequest): boolean => query["keyFormat"] === "visible"
}

/** Whether a change does nothing but disable or enable. */
export const isAboutDisabled = (request: KeyRequest): boolean => getFields(request).every((name) => name === "disabled")
