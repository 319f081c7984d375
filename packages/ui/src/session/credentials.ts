/** How requests authenticate. An app sets it when it starts. */
interface Credentials {
  readonly getToken: () => string
  /** Called when the token is no longer accepted. Resolves with whether there is another one. */
  readonly renew: () => Promise<boolean>
}

export let credentials: Credentials = { getToken: () => "", renew: () => Promise.resolve(false) }

export const setCredentials = (value: Credentials): void => {
  credentials = value
}
