// This file is here so that the compiler accepts the declaration of mainMain.
