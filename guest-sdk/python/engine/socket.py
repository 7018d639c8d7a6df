"""Is the module _socket of the engine: programs import socket, and have no sockets."""

AF_UNSPEC, AF_INET, AF_INET6 = 0, 2, 10
SOCK_STREAM, SOCK_DGRAM, SOCK_NONBLOCK, SOCK_CLOEXEC = 1, 2, 0x800, 0x80000
SOL_SOCKET, SO_REUSEADDR, SO_KEEPALIVE, SO_ERROR, SO_TYPE = 1, 2, 9, 4, 3
IPPROTO_TCP, IPPROTO_IPV6, TCP_NODELAY, IPV6_V6ONLY, SOMAXCONN = 6, 41, 1, 26, 128
SHUT_RD, SHUT_WR, SHUT_RDWR = 0, 1, 2
MSG_PEEK, AI_PASSIVE, NI_NUMERICHOST, NI_NUMERICSERV = 2, 1, 1, 2
EAI_FAMILY, EAI_NONAME = -6, -2
has_ipv6 = False
error, timeout, CAPI = OSError, TimeoutError, None


class herror(OSError):
    pass


class gaierror(OSError):
    pass


def refuse(*args, **kwargs):
    raise OSError(58, "a provider has no sockets: use husk_provider.http, and grant the provider http")


class socket:
    __slots__ = ()

    def __init__(self, *args, **kwargs):
        refuse()


SocketType = socket
socketpair = getaddrinfo = gethostbyname = gethostbyname_ex = gethostbyaddr = getnameinfo = getservbyname = getservbyport = gethostname = refuse
dup = close = refuse


def getdefaulttimeout():
    return None


def setdefaulttimeout(timeout):
    pass


def inet_pton(family, text):
    import ipaddress
    try:
        return ipaddress.ip_address(text).packed
    except ValueError:
        raise OSError("illegal IP address string passed to inet_pton") from None


def inet_ntop(family, packed):
    import ipaddress
    return str(ipaddress.ip_address(packed))


def inet_aton(text):
    return inet_pton(AF_INET, text)


def htons(x):
    return (x & 255) << 8 | x >> 8


ntohs = htons
