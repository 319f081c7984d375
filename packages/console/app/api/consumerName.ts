/** Whether a text can be the name of a consumer. Requests for other names would only fail. */
export const isConsumerName = (text: string): boolean => /^[a-z0-9-]{1,128}$/.test(text)
